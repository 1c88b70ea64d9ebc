// Stacked reduction: the value of every column at the point bound so far.
#include "../field/lane_ops.h"
#include "accumulate.h"
#include "params.h"

/// out[job.out + column * shares + share] = sum over the rows of the share of weight(row) q_column[row],
/// weight(row) = high[row >> log_low] * low[row mod 2^log_low]. `low` is four planes of words. A
/// threadgroup sums one share (2^log_block rows) of one column; 4 wide products (2 products) per cell and 16 bytes
/// of cached weights.
/// Given: total.
/// Cost: 2 * total products, 4 * total + 16 * groups bytes per launch.
/// Requires: threads_per_group <= 256.
/// Safety: the threadgroups are those of `jobs`; the columns of each job lie in `cells`, its results in `out`; a
/// share has a whole number of rows of `low`, and `high` reaches over a column. `total` counts the cells.
kernel void stacked_column_values(
    device const Fp* cells [[buffer(0)]],
    device const Fp* low [[buffer(1)]],
    device const FpExt* high [[buffer(2)]],
    device const StackedColumnJob* jobs [[buffer(3)]],
    device FpExt* out [[buffer(4)]],
    constant StackedColumnParams& p [[buffer(5)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    LANE_MULTIPLE(1u << p.log_low);
    uint k = 0u;
    while (k + 1u < p.jobs && jobs[k + 1u].first_group <= group) k++;
    StackedColumnJob job = jobs[k];
    uint local = group - job.first_group;
    uint log_shares = job.log_rows - job.log_block;
    uint column = local >> log_shares;
    ulong first = ulong(local & ((1u << log_shares) - 1u)) << job.log_block;
    device const Fp* q = cells + job.cells + (ulong(column) << job.log_rows) + first;
    uint low_len = 1u << p.log_low, blocks = 1u << (job.log_block - p.log_low);
    FpExtL total = fpext_zero<uint_l>();
    for (uint b = 0u; b < blocks; b++) {
        FpExtAcc acc = fpext_acc_zero();
        for (uint i0 = 0u; i0 < low_len; i0 += 2u * tpg) {
            for (uint half_of = 0u; half_of < 2u; half_of++) {
                uint at = i0 + half_of * tpg;
                index_l i = index_l(tid) + at;
                if (at < low_len) {
                    LANE_GUARD(i, low_len) {
                        FpL x = lane_load(q, i);
                        for (uint c = 0u; c < 4u; c++) {
                            acc.c[c] = fp_acc_mad(acc.c[c], x.v, lane_load(low + c * low_len, i).v);
                        }
                    }
                }
            }
            acc = fpext_acc_fold(acc);
        }
        total = total + fpext_acc_reduce(acc) * high[(first >> p.log_low) + b];
        q += low_len;
    }
    FpExt sum = fpext_group_sum(total, scratch, tid, tpg);
    if (LANE_LEADER(tid)) out[job.out + local] = sum;
}
