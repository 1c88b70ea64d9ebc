#include "merkle.h"

/// Hashes rows of a base-field matrix into `digests` (one per thread).
/// Contract: a thread reads 2^log_fold rows of 4 * width bytes and writes 32 bytes;
/// 2^log_fold * (ceil(width / 8) + 1) - 1 permutations of 564 products.
kernel void merkle_leaves_base(device const Fp* matrix [[buffer(0)]],
                               device Digest* digests [[buffer(1)]],
                               constant MerkleLeafParams& p [[buffer(2)]],
                               gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    merkle_leaf(matrix, digests, p.height, p.width, p.log_stride, p.log_fold, gid);
}

/// Hashes rows of an extension-field matrix into `digests` (one per thread).
/// Contract: a thread reads 2^log_fold rows of 16 * width bytes and writes 32 bytes;
/// 2^log_fold * (ceil(width / 2) + 1) - 1 permutations of 564 products.
kernel void merkle_leaves_ext(device const FpExt* matrix [[buffer(0)]],
                              device Digest* digests [[buffer(1)]],
                              constant MerkleLeafParams& p [[buffer(2)]],
                              gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    merkle_leaf(matrix, digests, p.height, p.width, p.log_stride, p.log_fold, gid);
}

/// Combines 2^log_fold digests, `query_stride` apart, into one (the strided levels below layer 0).
/// Contract: a thread reads 2^log_fold digests and writes one; 2^log_fold - 1 permutations.
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

/// Computes `levels` layers of the tree above a layer, for one block of 2^levels nodes per threadgroup.
/// Contract: a threadgroup reads 32 * 2^levels bytes and writes as many less 32; 2^levels - 1 permutations.
kernel void merkle_subtree(device Digest* tree [[buffer(0)]],
                           constant MerkleSubtreeParams& p [[buffer(1)]],
                           tid_l tid [[thread_index_in_threadgroup]],
                           uint tpg [[threads_per_threadgroup]],
                           uint group [[threadgroup_position_in_grid]]) {
    ulong below = p.first, nodes = 1ul << p.log_nodes;
    for (uint level = 0; level < p.levels; level++) {
        uint count = 1u << (p.levels - 1u - level);
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
/// Contract: a thread reads and writes one cell (4 bytes each).
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

/// Gathers the opened rows of an extension-field matrix.
/// Contract: a thread reads and writes one cell (16 bytes each).
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

/// Gathers Merkle proofs: siblings[query * depth + level].
/// Contract: a thread reads and writes one digest (32 bytes each).
kernel void merkle_siblings(device const Digest* tree [[buffer(0)]],
                            device const uint* queries [[buffer(1)]],
                            device Digest* siblings [[buffer(2)]],
                            constant MerkleOpenParams& p [[buffer(3)]],
                            uint gid [[thread_position_in_grid]]) {
    if (gid >= p.siblings) return;
    uint level = gid % p.log_stride, query = queries[gid / p.log_stride];
    ulong stride = 1ul << p.log_stride;
    ulong layer = 2ul * (stride - (stride >> level));
    siblings[gid] = tree[layer + ((query >> level) ^ 1u)];
}
