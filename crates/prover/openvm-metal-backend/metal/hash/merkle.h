#pragma once
// Merkle trees over the rows of a column-major matrix, as the reference's `MerkleTree`: leaf r is the hash
// of row r; the first log2(rows_per_query) levels combine digests `query_stride` apart; the layers from
// there on, `query_stride` digests and then half as many each, are kept in one buffer, lowest first.
#include "items.h"
#include "params.h"
#include "sponge.h"

/// The item that the same lanes read after it: their next one, or the first of the threads behind them.
inline ulong merkle_next(gid_l g, uint log_stride, uint log_fold, uint u) {
    bool last = u + 1u == 1u << log_fold;
    return lane_base(merkle_item(last ? g + LANE_WIDTH : g, log_stride, log_fold, last ? 0u : u + 1u));
}

/// The digest of one item enters a binary tree of digests: `stack[j]` waits for its right sibling at level
/// j. After item u = 2^k - 1, s[0..8] is the root of the first 2^k items.
inline void merkle_push(thread FpL* s, thread FpL* stack, uint u, uint log_fold) {
    uint j = 0;
    MSL_ROLLED for (; ((u >> j) & 1u) != 0u; j++) {
        MSL_UNROLL for (uint k = 0; k < 8u; k++) {
            s[8u + k] = s[k];
            s[k] = stack[8u * j + k];
        }
        poseidon2_permute_part<uint_l>(s, false, false);
    }
    if (j < log_fold) {
        MSL_UNROLL for (uint k = 0; k < 8u; k++) stack[8u * j + k] = s[k];
    }
}

template <typename T>
inline void merkle_leaf(device const T* matrix, device Digest* out, ulong height, uint width, uint log_stride, uint log_fold, gid_l g) {
    FpL s[16], stack[32];
    MSL_ROLLED for (uint u = 0; u < (1u << log_fold); u++) {
        sponge_reset<uint_l>(s);
        index_l row = merkle_item(g, log_stride, log_fold, u);
        sponge_absorb_row(s, matrix, row, merkle_next(g, log_stride, log_fold, u), height, width);
        if (log_fold != 0u) merkle_push(s, stack, u, log_fold);
    }
    digest_store(out, index_l(g), s);
}

/// Node i of a layer from its children 2i, 2i + 1: one permutation, 64 bytes read, 32 written.
inline void merkle_node(device const Digest* below, device Digest* layer, index_l i) {
    DigestPairL pair = lane_load((device const DigestPair*)below, i);
    poseidon2_permute_part<uint_l>(pair.d, false, false);
    digest_store(layer, i, pair.d);
}
#if LANE_WIDTH > 1
/// Fewer nodes than lanes: the other lanes repeat the last node and are not stored.
inline void merkle_few_nodes(device const Digest* below, device Digest* layer, uint count) {
    FpL s[16];
    for (uint i = 0; i < 16u; i++) {
        for (uint k = 0; k < LANE_WIDTH; k++) {
            uint node = k < count ? k : count - 1u;
            s[i].v.set(k, below[2u * node + (i >> 3)].d[i & 7u].v);
        }
    }
    poseidon2_permute<uint_l>(s);
    for (uint k = 0; k < count; k++) {
        for (uint i = 0; i < 8u; i++) layer[k].d[i] = Fp{s[i].v[k]};
    }
}
#endif
