// WHIR: the dual weights after a query phase, w[s] += sum_i gamma_i z_i^s.
#include "accumulate.h"
#include "params.h"

/// base^i for a vector of exponents i < 2^bits: 2 bits products.
inline FpL whir_power(Fp base, uint_l i, uint bits) {
    FpL r = fp_one<uint_l>();
    for (uint b = 0u; b < bits; b++) {
        uint_l take = (uint_l)0u - ((i >> b) & (uint_l)1u);
        FpL m = fp_lanes(Fp{FP_ONE ^ base.v});
        r = r * FpL{(m.v & take) ^ (uint_l)FP_ONE};
        base = base * base;
    }
    return r;
}

/// One threadgroup per query i: low[i * 2^log_low + j] = z_i^j and high[k * queries + i] =
/// gamma_i z_i^(k 2^log_low).
/// Cost: (2 * p.log_low << p.log_low) + (2 * p.log_high + 4 << p.log_high) products,
/// (4 << p.log_low) + (16 << p.log_high) bytes per threadgroup.
/// Lengths: points, gammas groups, low groups << p.log_low, high p.queries << p.log_high.
/// Requires: groups <= p.queries, p.log_low < 32, p.log_high < 32.
[[max_total_threads_per_threadgroup(256)]]
kernel void whir_power_tables(
    device const Fp* points [[buffer(0)]],
    device const FpExt* gammas [[buffer(1)]],
    device Fp* low [[buffer(2)]],
    device FpExt* high [[buffer(3)]],
    constant WhirWeightParams& p [[buffer(4)]],
    uint query [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    uint low_len = 1u << p.log_low, high_len = 1u << p.log_high;
    LANE_MULTIPLE(min(low_len, high_len));
    Fp z = points[query];
    FpExt gamma = gammas[query];
    for (uint i0 = 0u; i0 < low_len; i0 += tpg) {
        index_l i = index_l(tid) + i0;
        LANE_GUARD(i, low_len) {
            lane_store(low, i + (ulong(query) << p.log_low), whir_power(z, to_vec(i), p.log_low));
        }
    }
    Fp step = fp_pow_2exp(z, p.log_low);
    for (uint i0 = 0u; i0 < high_len; i0 += tpg) {
        index_l i = index_l(tid) + i0;
        LANE_GUARD(i, high_len) {
            lane_store(high, i * p.queries + query, whir_power(step, to_vec(i), p.log_high) * gamma);
        }
    }
}

/// w[k 2^log_low + j] (+)= sum_t term_high[t][k] term_low[t][j] + sum_i high[k][i] low[i][j]. The rank of
/// the update is `queries`: 4 wide products (2 products) and 4 bytes of cached powers per query and entry.
/// Cost: 2 * p.queries * p.block products, p.terms * p.block ext products, 32 * p.block bytes per threadgroup.
/// Lengths: low p.queries << p.log_low, high p.queries << p.log_high,
/// term_low p.terms << p.log_low, term_high p.terms << p.log_high, w 1 << p.log_low + p.log_high.
/// Requires: p.log_low < 32, p.log_high < 32, (1 << p.log_low) % p.block == 0,
/// groups <= (1 << p.log_low) / p.block << p.log_high.
[[max_total_threads_per_threadgroup(256)]]
kernel void whir_update_weights(
    device const Fp* low [[buffer(0)]],
    device const FpExt* high [[buffer(1)]],
    device const FpExt* term_low [[buffer(2)]],
    device const FpExt* term_high [[buffer(3)]],
    device FpExt* w [[buffer(4)]],
    constant WhirWeightParams& p [[buffer(5)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    LANE_MULTIPLE(p.block);
    ulong low_len = 1ul << p.log_low;
    uint blocks = uint(low_len) / p.block;
    uint k = group / blocks, first = (group % blocks) * p.block;
    for (uint i0 = 0u; i0 < p.block; i0 += tpg) {
        index_l i = index_l(tid) + i0;
        LANE_GUARD(i, p.block) {
            index_l j = i + first;
            device const FpExt* scale = high + ulong(k) * p.queries;
            FpExtAcc acc = fpext_acc_zero();
            device const Fp* powers = low;
            for (uint q = 0u; q + 1u < p.queries; q += 2u) {
                acc = fpext_acc_fold(fpext_acc_mad2(acc, lane_load(powers, j), scale[0], lane_load(powers + low_len, j), scale[1]));
                powers += 2ul * low_len;
                scale += 2;
            }
            if ((p.queries & 1u) != 0u) acc = fpext_acc_mad(acc, lane_load(powers, j), scale[0]);
            FpExtL sum = fpext_acc_reduce(acc);
            for (uint t = 0u; t < p.terms; t++) {
                sum = sum + lane_load(term_low, j + (ulong(t) << p.log_low)) * term_high[(t << p.log_high) + k];
            }
            index_l at = j + (ulong(k) << p.log_low);
            if (p.accumulate != 0u) sum = sum + lane_load((device const FpExt*)w, at);
            lane_store(w, at, sum);
        }
    }
}
