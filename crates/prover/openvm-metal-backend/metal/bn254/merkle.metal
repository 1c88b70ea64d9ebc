#include "merkle.h"

/// Hashes rows of a base-field matrix into `nodes` (one per thread), elements of the scalar field of BN254.
/// A thread reads 2^log_fold rows of the matrix and writes one node.
/// Registers: 128 per thread.
/// Cost: (240 * ceil_div(p.width, 16) + 186 << p.log_fold) - 186 bn254 products, (4 * p.width << p.log_fold) + 32 bytes per thread.
/// Lengths: matrix p.height * p.width, nodes p.threads.
/// Requires: p.log_fold <= 4, p.height >= ceil_div(p.threads, 1 << p.log_stride) << p.log_stride + p.log_fold.
kernel void bn254_leaves_base(device const Fp* matrix [[buffer(0)]],
                              device Bn254Node* nodes [[buffer(1)]],
                              constant MerkleLeafParams& p [[buffer(2)]],
                              gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    bn_leaf(matrix, nodes, p.height, p.width, p.log_stride, p.log_fold, gid);
}

/// Hashes rows of an extension-field matrix into `nodes` (one per thread), elements of the scalar field of BN254.
/// A thread reads 2^log_fold rows of the matrix and writes one node.
/// Registers: 128 per thread.
/// Cost: (240 * ceil_div(p.width, 4) + 186 << p.log_fold) - 186 bn254 products, (16 * p.width << p.log_fold) + 32 bytes per thread.
/// Lengths: matrix p.height * p.width, nodes p.threads.
/// Requires: p.log_fold <= 4, p.height >= ceil_div(p.threads, 1 << p.log_stride) << p.log_stride + p.log_fold.
kernel void bn254_leaves_ext(device const FpExt* matrix [[buffer(0)]],
                             device Bn254Node* nodes [[buffer(1)]],
                             constant MerkleLeafParams& p [[buffer(2)]],
                             gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    bn_leaf(matrix, nodes, p.height, p.width, p.log_stride, p.log_fold, gid);
}

/// Combines 2^log_fold nodes, `query_stride` apart, into one (the strided levels below layer 0).
/// A thread reads these nodes and writes one.
/// Registers: 128 per thread.
/// Cost: (186 << p.log_fold) - 186 bn254 products, (32 << p.log_fold) + 32 bytes per thread.
/// Lengths: in ceil_div(p.threads, 1 << p.log_stride) << p.log_stride + p.log_fold, out p.threads.
/// Requires: p.log_fold <= 4.
kernel void bn254_fold(device const Bn254Node* in [[buffer(0)]],
                       device Bn254Node* out [[buffer(1)]],
                       constant MerkleLeafParams& p [[buffer(2)]],
                       gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    uint_l s[16], stack[32];
    MSL_ROLLED for (uint u = 0; u < (1u << p.log_fold); u++) {
        bn_load(in, merkle_item(gid, p.log_stride, p.log_fold, u), s);
        bn_push(s, stack, u, p.log_fold);
    }
    bn_store(out, index_l(gid), s);
}

/// Computes `levels` layers of the tree above a layer, for one block of 2^log_block nodes per threadgroup.
/// A threadgroup reads its lowest nodes and writes those of the layers above, one thread a node.
/// Registers: 128 per thread.
/// Cost: (186 << p.log_block) - (186 << p.log_block - p.levels) bn254 products,
/// (96 << p.log_block) - (96 << p.log_block - p.levels) bytes per threadgroup.
/// Lengths: tree p.first + (2 << p.log_nodes) - (1 << p.log_nodes >> p.levels).
/// Requires: groups << p.log_block <= 1 << p.log_nodes, p.levels <= p.log_block, p.log_block < 32.
[[max_total_threads_per_threadgroup(256)]]
kernel void bn254_subtree(device Bn254Node* tree [[buffer(0)]],
                          constant MerkleSubtreeParams& p [[buffer(1)]],
                          tid_l tid [[thread_index_in_threadgroup]],
                          uint tpg [[threads_per_threadgroup]],
                          uint group [[threadgroup_position_in_grid]]) {
    ulong below = p.first, nodes = 1ul << p.log_nodes;
    for (uint level = 0; level < p.levels; level++) {
        uint count = 1u << (p.log_block - 1u - level);
        ulong layer = below + (nodes >> level);
        device const Bn254Node* in = tree + (below + 2ul * count * group);
        device Bn254Node* out = tree + (layer + ulong(count) * group);
#if LANE_WIDTH > 1
        if (count < LANE_WIDTH) {
            bn_few_nodes(in, out, count);
        } else {
            for (uint i = 0; i < count; i += LANE_WIDTH) bn_node(in, out, tid + i);
        }
#else
        for (uint i = tid; i < count; i += tpg) bn_node(in, out, index_l(i));
#endif
        below = layer;
        threadgroup_barrier(mem_flags::mem_device);
    }
}
