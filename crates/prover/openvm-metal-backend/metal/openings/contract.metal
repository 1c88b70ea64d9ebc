// Linear maps of tables of extension elements: sums over high index bits, sums over low index bits.
#include "../field/fp_ext.h"
#include "params.h"

/// For each table t: out[t * len + j] = sum_k weights[k] in[offsets[t] + j + k * len], k < terms.
/// Cost: p.tables * p.terms ext products, 16 * p.tables * (p.terms + 1) bytes per thread.
/// Lengths: in max(p.offsets[0], p.offsets[1], p.offsets[2]) + p.terms * p.len, weights p.weights + p.terms,
/// out p.tables * p.len.
/// Requires: p.tables <= 3.
kernel void openings_contract(
    device const FpExt* in [[buffer(0)]],
    device const FpExt* weights [[buffer(1)]],
    device FpExt* out [[buffer(2)]],
    constant OpeningsContractParams& p [[buffer(3)]],
    gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.len) return;
    index_l j = index_l(gid);
    for (uint t = 0u; t < p.tables; t++) {
        FpExtL sum = fpext_zero<uint_l>();
        for (uint k = 0u; k < p.terms; k++) {
            sum = sum + lane_load(in, j + (p.offsets[t] + ulong(k) * p.len)) * weights[p.weights + k];
        }
        lane_store(out, j + ulong(t) * p.len, sum);
    }
}

/// out[j * out_stride] = sum_k weights[k] in[j * 2^log_block + k].
/// Cost: 1 << p.log_block ext products, (16 << p.log_block) + 16 bytes per thread.
/// Lengths: in p.len << p.log_block, weights p.weights + (1 << p.log_block), out (p.len - 1) * p.out_stride + 1.
/// Requires: p.log_block < 32, p.out_stride > 0.
kernel void openings_fold(
    device const FpExt* in [[buffer(0)]],
    device const FpExt* weights [[buffer(1)]],
    device FpExt* out [[buffer(2)]],
    constant OpeningsFoldParams& p [[buffer(3)]],
    gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.len) return;
    index_l j = index_l(gid) << p.log_block;
    FpExtL sum = fpext_zero<uint_l>();
    for (uint k = 0u; k < (1u << p.log_block); k++) sum = sum + lane_load(in, j + k) * weights[p.weights + k];
    lane_store(out, index_l(gid) * p.out_stride, sum);
}
