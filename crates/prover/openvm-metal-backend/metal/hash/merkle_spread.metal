// The upper layers of a Merkle tree, whose nodes are too few to fill a device: what counts is how long one permutation takes.
#include "params.h"
#include "sponge.h"
#include "spread.h"

// Layers of a threadgroup at most, and words of all its nodes above the lowest.
constant constexpr uint MERKLE_SPREAD_LEVELS = 7u;
constant constexpr uint MERKLE_SPREAD_WORDS = 8u << MERKLE_SPREAD_LEVELS;

/// As `merkle_subtree` for blocks of 2^levels nodes, each permutation on sixteen lanes: 1.2 us for a layer instead of 9 on an H200.
/// A threadgroup reads its lowest nodes and writes all above.
/// Cost: (1 << p.levels) - 1 permutations, (64 << p.levels) - 32 bytes per threadgroup.
/// Lengths: tree p.first + (2 << p.log_nodes) - (1 << p.log_nodes >> p.levels).
/// Requires: groups << p.levels <= 1 << p.log_nodes, p.levels <= 7, p.log_block == p.levels, threads_per_group % 32 == 0,
/// threads_per_group <= 512.
[[max_total_threads_per_threadgroup(512)]]
kernel void merkle_subtree_spread(device Digest* tree [[buffer(0)]],
                                  constant MerkleSubtreeParams& p [[buffer(1)]],
                                  uint tid [[thread_index_in_threadgroup]],
                                  uint tpg [[threads_per_threadgroup]],
                                  uint width [[threads_per_simdgroup]],
                                  uint group [[threadgroup_position_in_grid]]) {
    // The nodes above the lowest, layer after layer.
    threadgroup Fp nodes[MERKLE_SPREAD_WORDS];
    uint lane = tid % width, element = tid % SPREAD_WIDTH;
    SpreadRow row = spread_row(element);
    ulong layer = p.first, size = 1ul << p.log_nodes;
    device const Fp* lowest = (device const Fp*)(tree + (layer + (ulong(group) << p.levels)));
    uint below = 0u, above = 0u;
    for (uint level = 0; level < p.levels; level++) {
        uint count = 1u << (p.levels - 1u - level);
        layer += size >> level;
        device Fp* out = (device Fp*)(tree + (layer + ulong(count) * group));
        if (width >= SPREAD_WIDTH) {
            uint units = tpg / SPREAD_WIDTH;
            for (uint first = tid / SPREAD_WIDTH; simd_any(first < count); first += units) {
                // Half a SIMD-group without a node goes through the last one again.
                uint node = min(first, count - 1u), from = SPREAD_WIDTH * node + element;
                Fp x;
                if (level == 0u) x = lowest[from];
                else x = nodes[below + from];
                x = spread_permute(x, lane, row);
                if (element < 8u) {
                    nodes[above + 8u * node + element] = x;
                    out[8u * node + element] = x;
                }
            }
        } else {
            for (uint node = tid; node < count; node += tpg) {
                Fp s[SPREAD_WIDTH];
                for (uint k = 0; k < SPREAD_WIDTH; k++) {
                    uint from = SPREAD_WIDTH * node + k;
                    if (level == 0u) s[k] = lowest[from];
                    else s[k] = nodes[below + from];
                }
                poseidon2_permute_part<uint>(s, false, false);
                for (uint k = 0; k < 8u; k++) {
                    nodes[above + 8u * node + k] = s[k];
                    out[8u * node + k] = s[k];
                }
            }
        }
        below = above;
        above += 8u * count;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}
