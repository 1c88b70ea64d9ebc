#include "tensor.h"

// Every kernel here adds up `segments` ranges of a buffer at once: threadgroup g works on block
// g mod blocks of segment g div blocks and writes out[g]. With more than one block per segment a
// second launch of `poly_sum_ext` adds the blocks.

/// out[g] = sum of the block's elements.
/// Cost: 0 products, 16 * min(p.block_len, p.len) + 16 bytes per threadgroup.
/// Lengths: values (groups - 1) / p.blocks * p.stride + p.len, out groups.
/// Requires: p.blocks > 0, p.blocks == 1 or p.block_len % 16 == 0.
[[max_total_threads_per_threadgroup(256)]]
kernel void poly_sum_ext(device const FpExt* values [[buffer(0)]],
                         device FpExt* out [[buffer(1)]],
                         constant PolyReduceParams& p [[buffer(2)]],
                         tid_l tid [[thread_index_in_threadgroup]],
                         uint tpg [[threads_per_threadgroup]],
                         uint group [[threadgroup_position_in_grid]]) {
    LANE_MULTIPLE(p.len);
    threadgroup FpExt scratch[256];
    device const FpExt* segment = values + ulong(group / p.blocks) * p.stride;
    ulong begin = ulong(group % p.blocks) * p.block_len;
    ulong end = min(begin + p.block_len, p.len);
    FpExtL acc = fpext_zero<uint_l>();
    for (ulong i0 = begin; i0 < end; i0 += tpg) {
        index_l i = index_l(tid) + i0;
        LANE_GUARD(i, end) acc = acc + lane_load(segment, i);
    }
    FpExt sum = fpext_group_sum(acc, scratch, tid, tpg);
    if (LANE_LEADER(tid)) out[group] = sum;
}

/// out[g] = sum of weights[i] * values[segment][i] over the block.
/// Cost: min(p.block_len, p.len) ext products, 32 * min(p.block_len, p.len) + 16 bytes per threadgroup.
/// Lengths: weights p.len, values (groups - 1) / p.blocks * p.stride + p.len, out groups.
/// Requires: p.blocks > 0, p.blocks == 1 or p.block_len % 16 == 0.
[[max_total_threads_per_threadgroup(256)]]
kernel void poly_dot_ext(device const FpExt* weights [[buffer(0)]],
                         device const FpExt* values [[buffer(1)]],
                         device FpExt* out [[buffer(2)]],
                         constant PolyReduceParams& p [[buffer(3)]],
                         tid_l tid [[thread_index_in_threadgroup]],
                         uint tpg [[threads_per_threadgroup]],
                         uint group [[threadgroup_position_in_grid]]) {
    LANE_MULTIPLE(p.len);
    threadgroup FpExt scratch[256];
    device const FpExt* segment = values + ulong(group / p.blocks) * p.stride;
    ulong begin = ulong(group % p.blocks) * p.block_len;
    ulong end = min(begin + p.block_len, p.len);
    FpExtL acc = fpext_zero<uint_l>();
    for (ulong i0 = begin; i0 < end; i0 += tpg) {
        index_l i = index_l(tid) + i0;
        LANE_GUARD(i, end) acc = acc + lane_load(weights, i) * lane_load(segment, i);
    }
    FpExt sum = fpext_group_sum(acc, scratch, tid, tpg);
    if (LANE_LEADER(tid)) out[group] = sum;
}

/// As `poly_dot_ext` with base field values.
/// Cost: 4 * min(p.block_len, p.len) products, 20 * min(p.block_len, p.len) + 16 bytes per threadgroup.
/// Lengths: weights p.len, values (groups - 1) / p.blocks * p.stride + p.len, out groups.
/// Requires: p.blocks > 0, p.blocks == 1 or p.block_len % 16 == 0.
[[max_total_threads_per_threadgroup(256)]]
kernel void poly_dot_base(device const FpExt* weights [[buffer(0)]],
                          device const Fp* values [[buffer(1)]],
                          device FpExt* out [[buffer(2)]],
                          constant PolyReduceParams& p [[buffer(3)]],
                          tid_l tid [[thread_index_in_threadgroup]],
                          uint tpg [[threads_per_threadgroup]],
                          uint group [[threadgroup_position_in_grid]]) {
    LANE_MULTIPLE(p.len);
    threadgroup FpExt scratch[256];
    device const Fp* segment = values + ulong(group / p.blocks) * p.stride;
    ulong begin = ulong(group % p.blocks) * p.block_len;
    ulong end = min(begin + p.block_len, p.len);
    FpExtL acc = fpext_zero<uint_l>();
    for (ulong i0 = begin; i0 < end; i0 += tpg) {
        index_l i = index_l(tid) + i0;
        LANE_GUARD(i, end) acc = acc + lane_load(weights, i) * lane_load(segment, i);
    }
    FpExt sum = fpext_group_sum(acc, scratch, tid, tpg);
    if (LANE_LEADER(tid)) out[group] = sum;
}

/// out[g] = sum over the block's rows h of high[h] * sum_l low[l] * values[segment][h << low_bits | l],
/// the inner product with a tensor table that is never written: one extension product per element, one more per
/// thread and row.
/// Cost: min(p.rows_per_block << p.low_bits, p.len) ext products,
/// 16 * min(p.rows_per_block << p.low_bits, p.len) + 16 bytes per threadgroup.
/// Lengths: factors (1 << p.low_bits) + ceil_div(p.len, 1 << p.low_bits),
/// values (groups - 1) / p.blocks * p.stride + p.len, out groups.
/// Requires: p.blocks > 0, p.low_bits >= 4.
[[max_total_threads_per_threadgroup(256)]]
kernel void poly_tensor_dot_ext(device const FpExt* factors [[buffer(0)]],
                                device const FpExt* values [[buffer(1)]],
                                device FpExt* out [[buffer(2)]],
                                constant PolyTensorDotParams& p [[buffer(3)]],
                                tid_l tid [[thread_index_in_threadgroup]],
                                uint tpg [[threads_per_threadgroup]],
                                uint group [[threadgroup_position_in_grid]]) {
    LANE_MULTIPLE(p.len);
    threadgroup FpExt scratch[256];
    device const FpExt* segment = values + ulong(group / p.blocks) * p.stride;
    device const FpExt* high = factors + (1ul << p.low_bits);
    ulong row = ulong(group % p.blocks) * p.rows_per_block;
    FpExtL acc = fpext_zero<uint_l>();
    for (uint k = 0; k < p.rows_per_block; k++, row++) {
        ulong begin = row << p.low_bits;
        if (begin >= p.len) break;
        ulong count = min(1ul << p.low_bits, p.len - begin);
        FpExtL row_acc = fpext_zero<uint_l>();
        for (ulong i0 = 0; i0 < count; i0 += tpg) {
            index_l i = index_l(tid) + i0;
            LANE_GUARD(i, count) row_acc = row_acc + lane_load(factors, i) * lane_load(segment, i + begin);
        }
        acc = acc + row_acc * high[row];
    }
    FpExt sum = fpext_group_sum(acc, scratch, tid, tpg);
    if (LANE_LEADER(tid)) out[group] = sum;
}

/// As `poly_tensor_dot_ext` with base field values: four base products per element.
/// Cost: 4 * min(p.rows_per_block << p.low_bits, p.len) products,
/// 4 * min(p.rows_per_block << p.low_bits, p.len) + 16 bytes per threadgroup.
/// Lengths: factors (1 << p.low_bits) + ceil_div(p.len, 1 << p.low_bits),
/// values (groups - 1) / p.blocks * p.stride + p.len, out groups.
/// Requires: p.blocks > 0, p.low_bits >= 4.
[[max_total_threads_per_threadgroup(256)]]
kernel void poly_tensor_dot_base(device const FpExt* factors [[buffer(0)]],
                                 device const Fp* values [[buffer(1)]],
                                 device FpExt* out [[buffer(2)]],
                                 constant PolyTensorDotParams& p [[buffer(3)]],
                                 tid_l tid [[thread_index_in_threadgroup]],
                                 uint tpg [[threads_per_threadgroup]],
                                 uint group [[threadgroup_position_in_grid]]) {
    LANE_MULTIPLE(p.len);
    threadgroup FpExt scratch[256];
    device const Fp* segment = values + ulong(group / p.blocks) * p.stride;
    device const FpExt* high = factors + (1ul << p.low_bits);
    ulong row = ulong(group % p.blocks) * p.rows_per_block;
    FpExtL acc = fpext_zero<uint_l>();
    for (uint k = 0; k < p.rows_per_block; k++, row++) {
        ulong begin = row << p.low_bits;
        if (begin >= p.len) break;
        ulong count = min(1ul << p.low_bits, p.len - begin);
        FpExtL row_acc = fpext_zero<uint_l>();
        for (ulong i0 = 0; i0 < count; i0 += tpg) {
            index_l i = index_l(tid) + i0;
            LANE_GUARD(i, count) row_acc = row_acc + lane_load(factors, i) * lane_load(segment, i + begin);
        }
        acc = acc + row_acc * high[row];
    }
    FpExt sum = fpext_group_sum(acc, scratch, tid, tpg);
    if (LANE_LEADER(tid)) out[group] = sum;
}
