#include "merkle.h"

/// Hashes rows of a base-field matrix into `digests` (one per thread).
/// A thread reads 2^log_fold rows of the matrix and writes one digest.
/// Registers: 48 per thread.
/// Cost: (ceil_div(p.width, 8) + 1 << p.log_fold) - 1 permutations, (4 * p.width << p.log_fold) + 32 bytes per thread.
/// Lengths: matrix p.height * p.width, digests p.threads.
/// Requires: p.log_fold <= 4, p.height >= ceil_div(p.threads, 1 << p.log_stride) << p.log_stride + p.log_fold.
kernel void merkle_leaves_base(device const Fp* matrix [[buffer(0)]],
                               device Digest* digests [[buffer(1)]],
                               constant MerkleLeafParams& p [[buffer(2)]],
                               gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    merkle_leaf(matrix, digests, p.height, p.width, p.log_stride, p.log_fold, gid);
}

/// Hashes rows of an extension-field matrix into `digests` (one per thread).
/// A thread reads 2^log_fold rows of the matrix and writes one digest.
/// Registers: 48 per thread.
/// Cost: (ceil_div(p.width, 2) + 1 << p.log_fold) - 1 permutations, (16 * p.width << p.log_fold) + 32 bytes per thread.
/// Lengths: matrix p.height * p.width, digests p.threads.
/// Requires: p.log_fold <= 4, p.height >= ceil_div(p.threads, 1 << p.log_stride) << p.log_stride + p.log_fold.
kernel void merkle_leaves_ext(device const FpExt* matrix [[buffer(0)]],
                              device Digest* digests [[buffer(1)]],
                              constant MerkleLeafParams& p [[buffer(2)]],
                              gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    merkle_leaf(matrix, digests, p.height, p.width, p.log_stride, p.log_fold, gid);
}

/// Combines 2^log_fold digests, `query_stride` apart, into one (the strided levels below layer 0).
/// Registers: 48 per thread.
/// Cost: (1 << p.log_fold) - 1 permutations, (32 << p.log_fold) + 32 bytes per thread.
/// Lengths: in ceil_div(p.threads, 1 << p.log_stride) << p.log_stride + p.log_fold, out p.threads.
/// Requires: p.log_fold <= 4.
kernel void merkle_fold(device const Digest* in [[buffer(0)]],
                        device Digest* out [[buffer(1)]],
                        constant MerkleLeafParams& p [[buffer(2)]],
                        gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    FpL s[16], stack[32];
    MSL_ROLLED for (uint u = 0; u < (1u << p.log_fold); u++) {
        digest_load(in, merkle_item(gid, p.log_stride, p.log_fold, u), s);
        merkle_push(s, stack, u, p.log_fold);
    }
    digest_store(out, index_l(gid), s);
}

/// Computes `levels` layers of the tree above a layer, for one block of 2^log_block nodes per threadgroup.
/// A threadgroup reads its lowest nodes and writes those of the layers above.
/// Cost: (1 << p.log_block) - (1 << p.log_block - p.levels) permutations,
/// (96 << p.log_block) - (96 << p.log_block - p.levels) bytes per threadgroup.
/// Lengths: tree p.first + (2 << p.log_nodes) - (1 << p.log_nodes >> p.levels).
/// Requires: groups << p.log_block <= 1 << p.log_nodes, p.levels <= p.log_block, p.log_block < 32.
[[max_total_threads_per_threadgroup(256)]]
kernel void merkle_subtree(device Digest* tree [[buffer(0)]],
                           constant MerkleSubtreeParams& p [[buffer(1)]],
                           tid_l tid [[thread_index_in_threadgroup]],
                           uint tpg [[threads_per_threadgroup]],
                           uint group [[threadgroup_position_in_grid]]) {
    ulong below = p.first, nodes = 1ul << p.log_nodes;
    for (uint level = 0; level < p.levels; level++) {
        uint count = 1u << (p.log_block - 1u - level);
        ulong layer = below + (nodes >> level);
        device const Digest* in = tree + (below + 2ul * count * group);
        device Digest* out = tree + (layer + ulong(count) * group);
#if LANE_WIDTH > 1
        if (count < LANE_WIDTH) {
            merkle_few_nodes(in, out, count);
        } else {
            for (uint i = 0; i < count; i += LANE_WIDTH) merkle_node(in, out, tid + i);
        }
#else
        for (uint i = tid; i < count; i += tpg) merkle_node(in, out, index_l(i));
#endif
        below = layer;
        threadgroup_barrier(mem_flags::mem_device);
    }
}

/// Gathers the opened rows of a base-field matrix: rows[(query * rows_per_query + t) * width + column].
/// A thread reads and writes one cell; rows beyond the matrix are zero.
/// Cost: 0 products, 8 bytes per thread.
/// Lengths: matrix p.height * p.width, queries ceil_div(p.cells, p.width << p.log_rows), rows p.cells.
/// Requires: p.width > 0.
kernel void merkle_open_base(device const Fp* matrix [[buffer(0)]],
                             device const uint* queries [[buffer(1)]],
                             device Fp* rows [[buffer(2)]],
                             constant MerkleOpenParams& p [[buffer(3)]],
                             uint gid [[thread_position_in_grid]]) {
    if (gid >= p.cells) return;
    ulong item = gid / p.width, column = gid % p.width;
    ulong row = ((item & ((1ul << p.log_rows) - 1ul)) << p.log_stride) + queries[item >> p.log_rows];
    rows[gid] = row < p.height ? matrix[column * p.height + row] : Fp{0u};
}

/// Gathers the opened rows of an extension-field matrix. A thread reads and writes one cell.
/// Cost: 0 products, 32 bytes per thread.
/// Lengths: matrix p.height * p.width, queries ceil_div(p.cells, p.width << p.log_rows), rows p.cells.
/// Requires: p.width > 0.
kernel void merkle_open_ext(device const FpExt* matrix [[buffer(0)]],
                            device const uint* queries [[buffer(1)]],
                            device FpExt* rows [[buffer(2)]],
                            constant MerkleOpenParams& p [[buffer(3)]],
                            uint gid [[thread_position_in_grid]]) {
    if (gid >= p.cells) return;
    ulong item = gid / p.width, column = gid % p.width;
    ulong row = ((item & ((1ul << p.log_rows) - 1ul)) << p.log_stride) + queries[item >> p.log_rows];
    FpExt zero = fpext_zero<uint>();
    rows[gid] = row < p.height ? matrix[column * p.height + row] : zero;
}

/// Gathers Merkle proofs: siblings[query * depth + level]. A thread reads and writes one digest; queries count
/// modulo the leaves.
/// Cost: 0 products, 64 bytes per thread.
/// Lengths: tree (2 << p.log_stride) - 2, queries ceil_div(p.siblings, p.log_stride), siblings p.siblings.
/// Requires: p.log_stride > 0, p.log_stride < 32.
kernel void merkle_siblings(device const Digest* tree [[buffer(0)]],
                            device const uint* queries [[buffer(1)]],
                            device Digest* siblings [[buffer(2)]],
                            constant MerkleOpenParams& p [[buffer(3)]],
                            uint gid [[thread_position_in_grid]]) {
    if (gid >= p.siblings) return;
    ulong stride = 1ul << p.log_stride;
    uint level = gid % p.log_stride, query = queries[gid / p.log_stride] & uint(stride - 1ul);
    ulong layer = 2ul * (stride - (stride >> level));
    siblings[gid] = tree[layer + ((query >> level) ^ 1u)];
}
