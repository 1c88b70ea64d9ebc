#include "merkle.h"

/// Absorbs the next columns of each row and keeps the capacity of its sponge in `states`. All but the last columns of
/// a matrix are absorbed a multiple of 8 at a time, so that the rate is overwritten by those that follow.
/// A thread reads a row of these columns; unless they are the first, it reads the state that it writes.
/// Registers: 48 per thread.
/// Cost: ceil_div(p.width, 8) permutations, 4 * p.width + 64 bytes per thread.
/// Lengths: matrix p.height * p.width, states p.rows.
/// Requires: p.rows <= p.height, p.width % 8 == 0.
kernel void merkle_absorb(device const Fp* matrix [[buffer(0)]],
                          device Digest* states [[buffer(1)]],
                          constant MerkleAbsorbParams& p [[buffer(2)]],
                          gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.rows) return;
    FpL s[16];
    sponge_reset<uint_l>(s);
    index_l row = index_l(gid);
    if (p.resumes != 0u) sponge_resume(s, states, row);
    sponge_absorb_row(s, matrix, row, lane_base(row) + LANE_WIDTH, p.height, p.width, true);
    sponge_keep(s, states, row);
}

/// Hashes rows whose first columns were absorbed by merkle_absorb into `digests` (one per thread); `matrix` begins
/// with the columns that are left.
/// A thread reads 2^log_fold rows of these columns and their states, and writes one digest.
/// Registers: 48 per thread.
/// Cost: (ceil_div(p.width, 8) + 1 << p.log_fold) - 1 permutations, (4 * p.width + 32 << p.log_fold) + 32 bytes per thread.
/// Lengths: matrix p.height * p.width, states ceil_div(p.threads, 1 << p.log_stride) << p.log_stride + p.log_fold, digests p.threads.
/// Requires: p.log_fold <= 4, p.height >= ceil_div(p.threads, 1 << p.log_stride) << p.log_stride + p.log_fold.
kernel void merkle_leaves_resumed(device const Fp* matrix [[buffer(0)]],
                                  device const Digest* states [[buffer(1)]],
                                  device Digest* digests [[buffer(2)]],
                                  constant MerkleLeafParams& p [[buffer(3)]],
                                  gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    FpL s[16], stack[32];
    MSL_ROLLED for (uint u = 0; u < (1u << p.log_fold); u++) {
        index_l row = merkle_item(gid, p.log_stride, p.log_fold, u);
        sponge_reset<uint_l>(s);
        sponge_resume(s, states, row);
        sponge_absorb_row(s, matrix, row, merkle_next(gid, p.log_stride, p.log_fold, u), p.height, p.width);
        if (p.log_fold != 0u) merkle_push(s, stack, u, p.log_fold);
    }
    digest_store(digests, index_l(gid), s);
}
