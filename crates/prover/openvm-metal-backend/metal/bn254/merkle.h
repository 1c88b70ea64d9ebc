#pragma once
// Merkle trees over the rows of a column-major matrix as in hash/merkle.h, with nodes that are elements of the scalar field of BN254.
#include "../hash/items.h"
#include "../hash/params.h"
#include "sponge.h"

/// The node of one item enters a binary tree of nodes: `stack[j]` waits for its right sibling at level j. After item u = 2^k - 1, s[0..8] is the root of the
/// first 2^k items.
inline void bn_push(thread uint_l* s, thread uint_l* stack, uint u, uint log_fold) {
    uint j = 0;
    MSL_ROLLED for (; ((u >> j) & 1u) != 0u; j++) {
        MSL_UNROLL for (uint k = 0; k < 8u; k++) {
            s[8u + k] = s[k];
            s[k] = stack[8u * j + k];
        }
        bn_permute<2>(s, 0u);
    }
    if (j < log_fold) {
        MSL_UNROLL for (uint k = 0; k < 8u; k++) stack[8u * j + k] = s[k];
    }
}

template <typename T>
inline void bn_leaf(device const T* matrix, device Bn254Node* out, ulong height, uint width, uint log_stride, uint log_fold, gid_l g) {
    uint_l s[24], stack[32];
    MSL_ROLLED for (uint u = 0; u < (1u << log_fold); u++) {
        bn_reset(s);
        bn_absorb_row(s, matrix, merkle_item(g, log_stride, log_fold, u), height, width);
        if (log_fold != 0u) bn_push(s, stack, u, log_fold);
    }
    bn_store(out, index_l(g), s);
}

/// Node i of a layer from its children 2i, 2i + 1: one permutation, 64 bytes read, 32 written.
inline void bn_node(device const Bn254Node* below, device Bn254Node* layer, index_l i) {
    Bn254PairL pair = lane_load((device const Bn254Pair*)below, i);
    bn_permute<2>(pair.v, 0u);
    bn_store(layer, i, pair.v);
}
#if LANE_WIDTH > 1
/// Fewer nodes than lanes: the other lanes repeat the last node and are not stored.
inline void bn_few_nodes(device const Bn254Node* below, device Bn254Node* layer, uint count) {
    uint_l s[16];
    for (uint i = 0; i < 16u; i++) {
        for (uint k = 0; k < LANE_WIDTH; k++) {
            uint node = k < count ? k : count - 1u;
            s[i].set(k, below[2u * node + (i >> 3)].v[i & 7u]);
        }
    }
    bn_permute<2>(s, 0u);
    for (uint k = 0; k < count; k++) {
        for (uint i = 0; i < 8u; i++) layer[k].v[i] = s[i][k];
    }
}
#endif
