// Columns of the traces: extension to cosets of the skip domain, plain copies, and the fold by the
// first challenge. Up to eight sources (buffers of traces) take part in one dispatch.
#include "coset.h"
#include "fold.h"

/// One thread extends one column at one x to all cosets of its job, with a transform of 2^l_skip cells for the
/// column and one for each coset.
/// Given: points, cosets.
/// Cost: points * (1 + cosets) * (params.l_skip + 1) / 2 << params.l_skip products,
/// 4 * points * (1 + cosets) << params.l_skip bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); each column lies in one of `source0` to `source7`, what a job writes in
/// `arena`; `tables` has the factors of all cosets. `points` counts the threads of the jobs, of `cosets` at most.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_extend(
    device const ConstraintColumnJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const ConstraintColumn* columns [[buffer(2)]],
    device const Fp* tables [[buffer(3)]],
    device Fp* arena [[buffer(4)]],
    constant ConstraintColumnParams& params [[buffer(5)]],
    device const Fp* source0 [[buffer(6)]], device const Fp* source1 [[buffer(7)]],
    device const Fp* source2 [[buffer(8)]], device const Fp* source3 [[buffer(9)]],
    device const Fp* source4 [[buffer(10)]], device const Fp* source5 [[buffer(11)]],
    device const Fp* source6 [[buffer(12)]], device const Fp* source7 [[buffer(13)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    ConstraintColumnJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(1u << job.log_points);
    JobShare share = job_share(job.first_group, job.threads, group, params.block);
    for (uint i0 = 0; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) {
            index_l t = i + ulong(share.first);
            ConstraintColumn column = columns[job.first_column + uint(lane_div_pow2(t, job.log_points))];
            ConstraintReader r = constraint_reader(column, job.height_mask, params.first_source, source0, source1, source2, source3, source4, source5, source6, source7);
            index_l x = lane_mod_pow2(t, job.log_points);
            device Fp* out = arena + job.dst + ulong(column.column) * job.column_stride;
#if LANE_WIDTH > 1
            // Of a coset that goes past the caches, whole cache lines if the strides are multiples of 16 words.
            bool lines = LANE_STREAMS && job.coset_stride >= CONSTRAINT_STREAMED && params.l_skip == 4u && job.log_points >= 4u && (lane_base(x) & 15u) == 0u &&
                         tpg == LANE_WIDTH && i0 + CONSTRAINT_LINE * tpg <= share.count;
            if (lines) {
                constraint_extend_column<4u, CONSTRAINT_LINE>(r, x, job.first_point, out, job.coset_stride, job.log_points, job.cosets, tables);
                i0 += (CONSTRAINT_LINE - 1u) * tpg;
                continue;
            }
#endif
#define EXTEND_CASE(L) case L: constraint_extend_column<L, 1u>(r, x, job.first_point, out, job.coset_stride, job.log_points, job.cosets, tables); break;
            switch (params.l_skip) {
                EXTEND_CASE(1u)
                EXTEND_CASE(2u)
                EXTEND_CASE(3u)
                EXTEND_CASE(4u)
                default: constraint_extend_column_in_memory(r, x, job.first_point, out, job.coset_stride, job.log_points, job.cosets, tables, params.l_skip);
            }
#undef EXTEND_CASE
        }
    }
#if LANE_WIDTH > 1
    lane_stream_end();
#endif
}

/// One thread copies one cell of a column, cyclically beyond the height; on GPUs four neighbours, if columns have so many.
/// Given: points.
/// Cost: 0 products, 8 * points bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); each column lies in one of `source0` to `source7`, what a job writes in
/// `arena`; `arena` and the sources begin at multiples of 16 bytes. `points` counts the threads of the jobs.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_gather(
    device const ConstraintColumnJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const ConstraintColumn* columns [[buffer(2)]],
    device Fp* arena [[buffer(4)]],
    constant ConstraintColumnParams& params [[buffer(5)]],
    device const Fp* source0 [[buffer(6)]], device const Fp* source1 [[buffer(7)]],
    device const Fp* source2 [[buffer(8)]], device const Fp* source3 [[buffer(9)]],
    device const Fp* source4 [[buffer(10)]], device const Fp* source5 [[buffer(11)]],
    device const Fp* source6 [[buffer(12)]], device const Fp* source7 [[buffer(13)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    ConstraintColumnJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(1u << job.log_points);
    JobShare share = job_share(job.first_group, job.threads, group, params.block);
#if LANE_WIDTH == 1
    if (job.log_points >= 2u && (params.block & 3u) == 0u) {
        bool stores_quads = (job.dst & 3ul) == 0ul && (job.column_stride & 3u) == 0u;
        for (uint i = 4u * tid; i < share.count; i += 4u * tpg) {
            uint t = share.first + i, first = t & ((1u << job.log_points) - 1u), row = first + job.first_point;
            ConstraintColumn column = columns[job.first_column + (t >> job.log_points)];
            ConstraintReader r = constraint_reader(column, job.height_mask, params.first_source, source0, source1, source2, source3, source4, source5, source6, source7);
            uint4 v;
            if ((row & 3u) == 0u && constraint_reads_quads(r, column.first, 4u)) {
                v = ((device const uint4*)(r.cells + (row & r.mask)))[0];
            } else {
                v = uint4(constraint_read(r, row).v, constraint_read(r, row + 1u).v, constraint_read(r, row + 2u).v, constraint_read(r, row + 3u).v);
            }
            device Fp* out = arena + job.dst + ulong(column.column) * job.column_stride + first;
            if (stores_quads) {
                ((device uint4*)out)[0] = v;
            } else {
                out[0].v = v.x;
                out[1].v = v.y;
                out[2].v = v.z;
                out[3].v = v.w;
            }
        }
        share.count = 0u;
    }
#endif
    for (uint i0 = 0; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) {
            index_l t = i + ulong(share.first);
            ConstraintColumn column = columns[job.first_column + uint(lane_div_pow2(t, job.log_points))];
            ConstraintReader r = constraint_reader(column, job.height_mask, params.first_source, source0, source1, source2, source3, source4, source5, source6, source7);
            index_l row = lane_mod_pow2(t, job.log_points);
            FpL value = constraint_read(r, to_vec(row) + job.first_point);
            lane_store(arena + job.dst + ulong(column.column) * job.column_stride, row, value);
        }
    }
}

/// One thread folds 2^l_skip rows of one column, and the same rows one ahead where the column has a
/// rotated destination: 4 or 8 wide products (4 products) per row. Results are in bit-reversed order of x, so that
/// pairs to fold next are half the rows apart.
/// Given: points.
/// Cost: 4 * points << params.l_skip products, points * ((4 << params.l_skip) + 32) bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); each column lies in one of `source0` to `source7`, what a job writes in
/// `arena`; `weights` has 2^l_skip entries; the sources begin at multiples of 16 bytes. `points` counts the threads of the jobs.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_fold_ple(
    device const ConstraintColumnJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const ConstraintColumn* columns [[buffer(2)]],
    device const FpExt* weights [[buffer(3)]],
    device Fp* arena [[buffer(4)]],
    constant ConstraintColumnParams& params [[buffer(5)]],
    device const Fp* source0 [[buffer(6)]], device const Fp* source1 [[buffer(7)]],
    device const Fp* source2 [[buffer(8)]], device const Fp* source3 [[buffer(9)]],
    device const Fp* source4 [[buffer(10)]], device const Fp* source5 [[buffer(11)]],
    device const Fp* source6 [[buffer(12)]], device const Fp* source7 [[buffer(13)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    ConstraintColumnJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(1u << job.log_points);
    JobShare share = job_share(job.first_group, job.threads, group, params.block);
    const uint n = 1u << params.l_skip;
    for (uint i0 = 0; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) {
            index_l t = i + ulong(share.first);
            ConstraintColumn column = columns[job.first_column + uint(lane_div_pow2(t, job.log_points))];
            ConstraintReader r = constraint_reader(column, job.height_mask, params.first_source, source0, source1, source2, source3, source4, source5, source6, source7);
            index_l y = lane_mod_pow2(t, job.log_points);
            // Shifted in two steps: one shift by 32 - 0 would be undefined.
            uint_l row = ((reverse_bits(to_vec(y)) >> 1u) >> (31u - job.log_points)) << params.l_skip;
            device Fp* out = arena + job.dst;
            ulong plane = job.column_stride;
            ConstraintDot here = constraint_dot();
            ConstraintDot next = constraint_dot();
            bool rotated = column.next_column != ~0u;
#if LANE_WIDTH == 1
            if (constraint_reads_quads(r, column.first, n)) {
                constraint_dot_quads(r, row, n, rotated, weights, here, next);
            } else
#else
            if (r.next == 0u && constraint_reads_runs(r, n)) {
                uint_l ahead = ((reverse_bits(to_vec(y + ulong(LANE_WIDTH))) >> 1u) >> (31u - job.log_points)) << params.l_skip;
                for (uint k = 0; k < LANE_WIDTH; k++) __builtin_prefetch(r.cells + (ahead[k] & r.mask));
                constraint_dot_runs(r, row, n, rotated, weights, here, next);
            } else
#endif
            {
                constraint_dot_rows(r, row, n, rotated, weights, here, next);
            }
            if (column.column != ~0u) constraint_store_planes(out + 4u * ulong(column.column) * plane, plane, y, constraint_dot_value(here));
            if (rotated) constraint_store_planes(out + 4u * ulong(column.next_column) * plane, plane, y, constraint_dot_value(next));
        }
    }
}
