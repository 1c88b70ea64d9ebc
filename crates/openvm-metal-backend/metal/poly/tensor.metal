#include "tensor.h"

/// Factor tables of a tensor table: low[0 .. 2^low_bits) with the scale, then high[0 .. 2^high_bits).
/// With high_bits = 0 the low factor is the table itself and `threads` may be any prefix of it.
/// Per thread low_bits or high_bits extension products.
/// Cost: max(p.low_bits, p.high_bits) ext products, 16 bytes per thread.
/// Lengths: factors p.threads.
/// Requires: p.low_bits + p.high_bits <= 32.
kernel void poly_tensor_factors(device FpExt* factors [[buffer(0)]],
                                constant PolyTensorParams& p [[buffer(1)]],
                                gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    index_l i = index_l(gid);
    ulong low_size = 1ul << p.low_bits;
    FpExtL value;
    if (p.high_bits == 0u || lane_base(i) < low_size) {
        value = fpext_lanes(p.scale);
        if (p.low_bits != 0u) value = tensor_factor(p, 0u, p.low_bits, to_vec(i)) * p.scale;
    } else {
        value = tensor_factor(p, p.low_bits, p.high_bits, to_vec(i) - uint(low_size));
    }
    lane_store(factors, i, value);
}

/// table[h << low_bits | l] = low[l] * high[h] for the rows_per_thread rows h of the thread's strip.
/// Stores are consecutive over threads; vectors of threads do not cross a row.
/// Cost: p.rows_per_thread ext products, 16 * p.rows_per_thread + 16 bytes per thread.
/// Lengths: factors (1 << p.low_bits) + ceil_div(p.len, 1 << p.low_bits), table p.len.
/// Requires: p.low_bits >= 4, p.low_bits < 32, threads_per_group % 16 == 0.
kernel void poly_tensor_outer(device const FpExt* factors [[buffer(0)]],
                              device FpExt* table [[buffer(1)]],
                              constant PolyOuterParams& p [[buffer(2)]],
                              gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    index_l i = index_l(gid);
    index_l column = lane_mod_pow2(i, p.low_bits);
    ulong row = lane_div_pow2(i, p.low_bits) * p.rows_per_thread;
    FpExtL low = lane_load(factors, column);
    device const FpExt* high = factors + (1ul << p.low_bits);
    for (uint k = 0; k < p.rows_per_thread; k++) {
        ulong start = (row + k) << p.low_bits;
        if (start < p.len) lane_store_below(table, column + start, p.len, low * high[row + k]);
    }
}
