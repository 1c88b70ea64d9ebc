#include "merkle.h"

/// Absorbs the next columns of each row, a multiple of 16, and keeps word 2 of its sponge in `states`: the rate is overwritten by the columns that follow.
/// A last block of 8 cells or fewer would leave word 1 as it is, so at least 9 columns must follow.
/// A thread reads a row of these columns; unless they are the first, it reads the state that it writes.
/// Registers: 128 per thread.
/// Cost: 240 * ceil_div(p.width, 16) bn254 products, 4 * p.width + 64 bytes per thread.
/// Lengths: matrix p.height * p.width, states p.rows.
/// Requires: p.rows <= p.height, p.width % 16 == 0.
kernel void bn254_absorb(device const Fp* matrix [[buffer(0)]],
                         device Bn254Node* states [[buffer(1)]],
                         constant MerkleAbsorbParams& p [[buffer(2)]],
                         gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.rows) return;
    uint_l s[24];
    bn_reset(s);
    index_l row = index_l(gid);
    if (p.resumes != 0u) bn_load(states, row, s + 16u);
    bn_absorb_row(s, matrix, row, p.height, p.width);
    bn_store(states, row, s + 16u);
}

/// Hashes rows whose first columns were absorbed by bn254_absorb into `nodes` (one per thread); `matrix` begins with the columns that are left, at least 9.
/// A thread reads 2^log_fold rows of these columns and their states, and writes one node.
/// Registers: 128 per thread.
/// Cost: (240 * ceil_div(p.width, 16) + 186 << p.log_fold) - 186 bn254 products, (4 * p.width + 32 << p.log_fold) + 32 bytes per thread.
/// Lengths: matrix p.height * p.width, states ceil_div(p.threads, 1 << p.log_stride) << p.log_stride + p.log_fold, nodes p.threads.
/// Requires: p.width >= 9, p.log_fold <= 4, p.height >= ceil_div(p.threads, 1 << p.log_stride) << p.log_stride + p.log_fold.
kernel void bn254_leaves_resumed(device const Fp* matrix [[buffer(0)]],
                                 device const Bn254Node* states [[buffer(1)]],
                                 device Bn254Node* nodes [[buffer(2)]],
                                 constant MerkleLeafParams& p [[buffer(3)]],
                                 gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    uint_l s[24], stack[32];
    MSL_ROLLED for (uint u = 0; u < (1u << p.log_fold); u++) {
        index_l row = merkle_item(gid, p.log_stride, p.log_fold, u);
        bn_reset(s);
        bn_load(states, row, s + 16u);
        bn_absorb_row(s, matrix, row, p.height, p.width);
        if (p.log_fold != 0u) bn_push(s, stack, u, p.log_fold);
    }
    bn_store(nodes, index_l(gid), s);
}
