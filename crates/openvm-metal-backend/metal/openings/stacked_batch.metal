// Stacked reduction: columns of one height are batched before anything else happens to them.
#include "accumulate.h"
#include "params.h"

/// The job that a threadgroup works on.
inline StackedColumnJob stacked_find_job(device const StackedColumnJob* jobs, uint count, uint group) {
    uint k = 0u;
    while (k + 1u < count && jobs[k + 1u].first_group <= group) k++;
    return jobs[k];
}

/// g_0[row] = sum_j weights[2 j] q_j[row] and g_1[row] = sum_j weights[2 j + 1] q_j[row] over a chunk
/// of columns; g_0 and then g_1 of a chunk lie one after the other, chunk after chunk. One range of cells of
/// the stacked matrix per dispatch; 8 wide products (4 products) per cell.
/// Given: total.
/// Cost: 4 * total products, 4 * total bytes per launch.
/// Safety: the threadgroups are those of `jobs`; the columns of each job lie in `cells`, its weights in `weights`
/// and its results in `out`. `total` counts the cells.
kernel void stacked_batch_rows(
    device const Fp* cells [[buffer(0)]],
    device const FpExt* weights [[buffer(1)]],
    device const StackedColumnJob* jobs [[buffer(2)]],
    device FpExt* out [[buffer(3)]],
    constant StackedColumnParams& p [[buffer(4)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    StackedColumnJob job = stacked_find_job(jobs, p.jobs, group);
    LANE_MULTIPLE(1u << job.log_block);
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
            device const Fp* column = cells + job.cells + (ulong(c0) << job.log_rows);
            device const FpExt* w = weights + 2ul * (job.weight + c0);
            FpExtAcc a = fpext_acc_zero(), b = fpext_acc_zero();
            if (job.rotated != 0u) {
                for (uint c = c0; c + 1u < c1; c += 2u) {
                    FpL x = lane_load(column, row), y = lane_load(column + rows, row);
                    a = fpext_acc_fold(fpext_acc_mad2(a, x, w[0], y, w[2]));
                    b = fpext_acc_fold(fpext_acc_mad2(b, x, w[1], y, w[3]));
                    column += 2ul * rows;
                    w += 4;
                }
                if (((c1 - c0) & 1u) != 0u) {
                    FpL x = lane_load(column, row);
                    a = fpext_acc_mad(a, x, w[0]);
                    b = fpext_acc_mad(b, x, w[1]);
                }
            } else {
                for (uint c = c0; c + 1u < c1; c += 2u) {
                    a = fpext_acc_fold(fpext_acc_mad2(a, lane_load(column, row), w[0], lane_load(column + rows, row), w[2]));
                    column += 2ul * rows;
                    w += 4;
                }
                if (((c1 - c0) & 1u) != 0u) a = fpext_acc_mad(a, lane_load(column, row), w[0]);
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

/// out[i] = sum over slots of slots[slot * len + i], on words: one addition per word read.
/// Cost: 0 products, 4 * p.slots + 4 bytes per thread.
/// Lengths: slots max(p.slots, 1) * p.len, out p.len.
kernel void stacked_sum_slots(
    device const Fp* slots [[buffer(0)]],
    device Fp* out [[buffer(1)]],
    constant OpeningsSumParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.len) return;
    index_l i = index_l(gid);
    FpL sum = lane_load(slots, i);
    for (uint s = 1u; s < p.slots; s++) sum = sum + lane_load(slots, i + ulong(s) * p.len);
    lane_store(out, i, sum);
}
