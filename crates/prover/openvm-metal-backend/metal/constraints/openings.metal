// Openings of columns one row ahead, for the columns that no program reads there.
#include "fold.h"

/// Some x of one column per threadgroup: sum over x of eq[x] * sum over z of L_z(r_0) * (the cell
/// after row x 2^l_skip + z). 4 wide products (2 products) per row and one extension product per x; log2(tpg)
/// barriers.
/// Given: points.
/// Cost: 2 * points << params.l_skip products, points ext products, 4 * points << params.l_skip bytes per launch.
/// Requires: threads_per_group <= 256.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); each column lies in one of `source0` to `source7`, its weights in `eq`, its
/// results in `out`; `weights` has 2^l_skip entries; the sources begin at multiples of 16 bytes. `points` counts the values of x in all columns.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_open_next(
    device const ConstraintColumnJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const ConstraintColumn* columns [[buffer(2)]],
    device const FpExt* weights [[buffer(3)]],
    device FpExt* out [[buffer(4)]],
    constant ConstraintColumnParams& params [[buffer(5)]],
    device const Fp* source0 [[buffer(6)]], device const Fp* source1 [[buffer(7)]],
    device const Fp* source2 [[buffer(8)]], device const Fp* source3 [[buffer(9)]],
    device const Fp* source4 [[buffer(10)]], device const Fp* source5 [[buffer(11)]],
    device const Fp* source6 [[buffer(12)]], device const Fp* source7 [[buffer(13)]],
    device const FpExt* eq [[buffer(14)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    ConstraintColumnJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(job.column_stride);
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    uint share = group - job.first_group;
    ulong first = ulong(share) * job.column_stride;
    ConstraintColumn column = columns[job.first_column + uint(first >> job.log_points)];
    uint first_x = uint(first) & ((1u << job.log_points) - 1u);
    ConstraintReader r = constraint_reader(column, job.height_mask, params.first_source, source0, source1, source2, source3, source4, source5, source6, source7);
#if LANE_WIDTH == 1
    ConstraintReader here = r;
    here.next -= 1u;
    bool ahead = constraint_reads_quads(here, column.first, 1u << params.l_skip);
#endif
    FpExtL total = fpext_zero<uint_l>();
    for (uint i0 = 0; i0 < job.column_stride; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, job.column_stride) {
            index_l x = i + ulong(first_x);
            uint_l row = to_vec(x) << params.l_skip;
            ConstraintDot dot = constraint_dot();
#if LANE_WIDTH == 1
            if (ahead) dot = constraint_dot_ahead(r, row, 1u << params.l_skip, weights);
            else
#else
            if (r.next == 1u && constraint_reads_runs(r, 1u << params.l_skip)) dot = constraint_dot_ahead(r, row, 1u << params.l_skip, weights);
            else
#endif
            for (uint z = 0; z < 1u << params.l_skip; z++) dot = constraint_dot_add(dot, constraint_read(r, row + z), weights[z]);
            total = total + constraint_dot_value(dot) * lane_load(eq + job.coset_stride, x);
        }
    }
    FpExt sum = fpext_group_sum(total, scratch, tid, tpg);
    if (LANE_LEADER(tid)) out[job.dst + share] = sum;
}
