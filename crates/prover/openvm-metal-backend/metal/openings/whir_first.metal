// WHIR's first round with challenges of the device's log: powers of mu, and the weights of the fold by all variables of the round.
#include "../field/fp_ext.h"
#include "params.h"

/// powers[i] = log[p.at]^i. One power per thread, 16 bytes.
/// Cost: 20 ext products, 16 bytes per thread.
/// Lengths: log p.at + 1, powers p.count.
kernel void whir_powers(
    device const FpExt* log [[buffer(0)]],
    device FpExt* powers [[buffer(1)]],
    constant WhirPowersParams& p [[buffer(2)]],
    uint gid [[thread_position_in_grid]]) {
    if (gid >= p.count) return;
    FpExt x = log[p.at];
    powers[gid] = fpext_pow(x, gid);
}

/// weights[o * 2^log_block + i]: the weight of input i of a block in its output o, which is sum_t (prod_j alpha_j^(bit j of t)) c[o * 2^k + t]
/// for coefficients c, each 2^l_skip of which are `message` times as many inputs; alpha_j = log[p.alpha + j * p.stride]. One weight per
/// thread: reads up to 2^k entries of `message`, writes 16 bytes.
/// Cost: (p.k + 1) << min(p.k, p.l_skip) ext products, (4 << min(p.k, p.l_skip)) + 16 bytes per thread.
/// Lengths: message 1 << 2 * p.l_skip, log p.alpha + (p.k - 1) * p.stride + 1, weights 1 << 2 * p.log_block - p.k.
/// Requires: p.k >= 1, p.k <= p.log_block, p.l_skip <= p.log_block, p.log_block <= 15.
kernel void whir_fold_weights(
    device const Fp* message [[buffer(0)]],
    device const FpExt* log [[buffer(1)]],
    device FpExt* weights [[buffer(2)]],
    constant WhirFoldWeightParams& p [[buffer(3)]],
    uint gid [[thread_position_in_grid]]) {
    if (gid >= 1u << (2u * p.log_block - p.k)) return;
    uint output = gid >> p.log_block, input = gid & ((1u << p.log_block) - 1u);
    uint mask = (1u << p.l_skip) - 1u;
    FpExt sum = fpext_zero<uint>();
    for (uint t = 0u; t < (1u << p.k); t++) {
        uint c = (output << p.k) + t;
        if ((c >> p.l_skip) != (input >> p.l_skip)) continue;
        FpExt term = fpext_from_base(message[((c & mask) << p.l_skip) + (input & mask)]);
        for (uint j = 0u; j < p.k; j++) {
            if (((t >> j) & 1u) != 0u) term = term * log[p.alpha + j * p.stride];
        }
        sum = sum + term;
    }
    weights[gid] = sum;
}
