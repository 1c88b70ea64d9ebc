// Stacked reduction: columns of one height are batched before anything else happens to them.
#include "../field/jobs.h"
#include "../field/sources.h"
#include "accumulate.h"
#include "params.h"

/// Adds the products of two columns' cells: to a with w[0] and w[2], and to b with w[1] and w[3] if they are rotated.
inline void stacked_batch_pair(thread FpExtAcc& a, thread FpExtAcc& b, FpL x, FpL y, device const FpExt* w, bool rotated) {
    a = fpext_acc_fold(fpext_acc_mad2(a, x, w[0], y, w[2]));
    if (rotated) b = fpext_acc_fold(fpext_acc_mad2(b, x, w[1], y, w[3]));
}

/// g_0[row] = sum_j weights[2 j] q_j[row] and g_1[row] = sum_j weights[2 j + 1] q_j[row] over a chunk
/// of columns; g_0 and then g_1 of a chunk lie one after the other, chunk after chunk. Up to eight ranges of cells of
/// the stacked matrix per dispatch; 8 wide products (4 products) per cell.
/// Given: total.
/// Cost: 4 * total products, 4 * total bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); the columns of each job lie in
/// its source, its weights in `weights` and its results in `out`. `total` counts the cells.
[[max_total_threads_per_threadgroup(256)]]
kernel void stacked_batch_rows(
    device const StackedColumnJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const FpExt* weights [[buffer(2)]],
    device FpExt* out [[buffer(3)]],
    device const Fp* source0 [[buffer(4)]], device const Fp* source1 [[buffer(5)]],
    device const Fp* source2 [[buffer(6)]], device const Fp* source3 [[buffer(7)]],
    device const Fp* source4 [[buffer(8)]], device const Fp* source5 [[buffer(9)]],
    device const Fp* source6 [[buffer(10)]], device const Fp* source7 [[buffer(11)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    StackedColumnJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(1u << job.log_block);
    device const Fp* cells = source_at(job.source, source0, source1, source2, source3, source4, source5, source6, source7) + job.cells;
    uint local = group - job.first_group;
    uint log_blocks = job.log_rows - job.log_block;
    uint slot = local >> log_blocks;
    ulong rows = 1ul << job.log_rows;
    ulong first = ulong(local & ((1u << log_blocks) - 1u)) << job.log_block;
    uint c0 = slot * job.chunk, c1 = min(c0 + job.chunk, job.columns);
    ulong out0 = job.out + ulong(slot) * 2ul * rows;
    uint block = 1u << job.log_block;
    for (uint i0 = 0u; i0 < block; i0 += tpg) {
        index_l i = index_l(tid) + i0;
        LANE_GUARD(i, block) {
            index_l row = i + first;
            device const Fp* column = cells + (ulong(c0) << job.log_rows);
            device const FpExt* w = weights + 2ul * (job.weight + c0);
            FpExtAcc a = fpext_acc_zero(), b = fpext_acc_zero();
            bool rotated = job.rotated != 0u;
            uint c = c0;
            for (; c + 3u < c1; c += 4u) {
                // All four are on their way before one is used.
                FpL x[4];
#if LANE_WIDTH > 1
                // Processors begin to read those eight columns ahead. Columns are pages apart, often in one set of a cache, which holds no more than twelve.
                MSL_UNROLL for (uint k = 8u; k < 12u; k++) {
                    if (c + k < c1) __builtin_prefetch(column + k * rows + row.base);
                }
#endif
                MSL_UNROLL for (uint k = 0u; k < 4u; k++) x[k] = lane_load(column + k * rows, row);
                stacked_batch_pair(a, b, x[0], x[1], w, rotated);
                stacked_batch_pair(a, b, x[2], x[3], w + 4, rotated);
                column += 4ul * rows;
                w += 8;
            }
            if (c + 1u < c1) {
                stacked_batch_pair(a, b, lane_load(column, row), lane_load(column + rows, row), w, rotated);
                column += 2ul * rows;
                w += 4;
                c += 2u;
            }
            if (c < c1) {
                FpL x = lane_load(column, row);
                a = fpext_acc_mad(a, x, w[0]);
                if (rotated) b = fpext_acc_mad(b, x, w[1]);
            }
            FpExtL g0 = fpext_acc_reduce(a), g1 = fpext_acc_reduce(b);
            if (job.accumulate != 0u) {
                g0 = g0 + lane_load((device const FpExt*)(out + out0), row);
                g1 = g1 + lane_load((device const FpExt*)(out + out0 + rows), row);
            }
            lane_store(out + out0, row, g0);
            lane_store(out + out0 + rows, row, g1);
        }
    }
}

/// Word i of a job: out[4 to + i] = sum over its slots of slots[4 from + slot * 4 len + i]. One addition per word read.
/// Given: words.
/// Cost: 0 products, 4 * words bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); the slots of each job lie in `slots`, its
/// results in `out`. `words` counts those that are read and written.
[[max_total_threads_per_threadgroup(256)]]
kernel void stacked_sum_slots(
    device const StackedTableJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const Fp* slots [[buffer(2)]],
    device Fp* out [[buffer(3)]],
    constant StackedTableParams& p [[buffer(4)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    StackedTableJob job = jobs[find_job(jobs, starts, group)];
    ulong words = ulong(EXT_DEGREE) * job.len;
    JobShare share = job_share(job.first_group, EXT_DEGREE * job.len, group, p.block);
    LANE_MULTIPLE(share.count);
    device const Fp* in = slots + ulong(EXT_DEGREE) * job.from;
    for (uint i0 = 0u; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) {
            index_l at = i + ulong(share.first);
            FpL sum = lane_load(in, at);
            for (uint s = 1u; s < job.slots; s++) sum = sum + lane_load(in, at + ulong(s) * words);
            lane_store(out + ulong(EXT_DEGREE) * job.to, at, sum);
        }
    }
}
