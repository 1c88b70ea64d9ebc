// Stacked reduction: rounds over the blocks of columns that are bound to one value.
#include "../field/lane_ops.h"
#include "params.h"

/// A block on its way: the stacked column there, and the weight by which the sumcheck multiplies it.
struct StackedCell {
    FpExt value, weight;
};

/// The block that `member` names; `u` is the last challenge.
inline StackedCell stacked_cell(StackedBlock member, device const FpExt* blocks, device const FpExt* values,
                                device const FpExt* lambdas, device const FpExt* work, uint log_shares, FpExt u) {
    StackedCell cell;
    cell.value = cell.weight = fpext_zero<uint>();
    if (member.column != STACKED_NONE) {
        for (uint i = 0; i < (1u << log_shares); i++) cell.value = cell.value + values[member.from + i];
        device const FpExt* lambda = lambdas + 2ul * member.column;
        cell.weight = lambda[0] * work[member.factors] + lambda[1] * work[member.factors + 1u];
    } else if (member.from != STACKED_NONE) {
        device const FpExt* from = blocks + 4ul * member.from;
        FpExt value = from[0], weight = from[1];
        cell.value = value + (from[2] - value) * u;
        cell.weight = weight + (from[3] - weight) * u;
    }
    return cell;
}

/// Pairs of blocks, p.block for each threadgroup. A block is the fold of a pair of `blocks` by the last challenge, or a column whose value is the sum
/// of its shares in `values` and whose weight is lambda_eq and lambda_rot times its factors. Writes value and weight of the even block
/// and of the odd one, and for the threadgroup partials[2 group], [2 group + 1]: the sum of value times weight over the pairs at X = 1 and X = 2.
/// Bytes are those of folds; a column reads 16 for each share.
/// Cost: 6 * p.pairs ext products, 216 * p.pairs bytes per launch.
/// Lengths: members 2 * p.pairs, work 40, out 4 * p.pairs, partials 2 * groups.
/// Requires: threads_per_group <= 256, groups * p.block >= p.pairs, p.round >= 1, p.round <= 33, p.log_shares < 32.
/// Safety: members name pairs that `blocks` has, shares in `values`, columns with two elements of `lambdas` and factors in `work`. In
/// round 1 none is a fold.
[[max_total_threads_per_threadgroup(256)]]
kernel void stacked_fold_blocks(
    device const StackedBlock* members [[buffer(0)]],
    device const FpExt* blocks [[buffer(1)]],
    device const FpExt* values [[buffer(2)]],
    device const FpExt* lambdas [[buffer(3)]],
    device const FpExt* work [[buffer(4)]],
    device FpExt* out [[buffer(5)]],
    device FpExt* partials [[buffer(6)]],
    constant StackedBlocksParams& p [[buffer(7)]],
    uint group [[threadgroup_position_in_grid]],
    uint tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    FpExt u = fpext_zero<uint>(), one = fpext_zero<uint>(), two = fpext_zero<uint>();
    if (p.round > 1u) u = work[p.round - 2u];
    uint first = group * p.block, end = min(first + p.block, p.pairs);
    for (uint pair = first + tid; pair < end; pair += tpg) {
        StackedCell even = stacked_cell(members[2u * pair], blocks, values, lambdas, work, p.log_shares, u);
        StackedCell odd = stacked_cell(members[2u * pair + 1u], blocks, values, lambdas, work, p.log_shares, u);
        device FpExt* to = out + 4ul * pair;
        to[0] = even.value;
        to[1] = even.weight;
        to[2] = odd.value;
        to[3] = odd.weight;
        one = one + odd.value * odd.weight;
        two = two + (odd.value + odd.value - even.value) * (odd.weight + odd.weight - even.weight);
    }
    FpExt at_one = fpext_group_sum(one, scratch, tid, tpg);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    FpExt at_two = fpext_group_sum(two, scratch, tid, tpg);
    if (tid == 0u) {
        partials[2u * group] = at_one;
        partials[2u * group + 1u] = at_two;
    }
}
