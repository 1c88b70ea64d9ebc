#include "zeta.h"

/// Subset sums over bits [first_bit, first_bit + bits) of the index of an EF table, in place.
/// Per element bits / 2 extension additions.
/// Cost: 0 products, 32 << p.run_bits + p.bits bytes per threadgroup.
/// Lengths: table ceil_div(groups, 1 << p.first_bit - p.run_bits) << p.first_bit + p.bits.
/// Requires: p.run_bits + p.bits <= 10, p.run_bits <= p.first_bit, p.first_bit - p.run_bits < 32.
[[max_total_threads_per_threadgroup(256)]]
kernel void poly_zeta_pass(device FpExt* table [[buffer(0)]],
                           constant PolyZetaParams& p [[buffer(1)]],
                           uint tid [[thread_index_in_threadgroup]],
                           uint tpg [[threads_per_threadgroup]],
                           uint group [[threadgroup_position_in_grid]]) {
    threadgroup Fp4 tile[1024];
    device uint4* words = (device uint4*)table;
    uint size = 1u << (p.run_bits + p.bits);
    for (uint t = tid; t < size; t += tpg) tile[t] = Fp4{words[zeta_address(p, group, t)]};
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (p.subtract != 0u) {
        zeta_tile_bits<true>(tile, size, p.run_bits, p.bits, tid, tpg);
    } else {
        zeta_tile_bits<false>(tile, size, p.run_bits, p.bits, tid, tpg);
    }
    for (uint t = tid; t < size; t += tpg) words[zeta_address(p, group, t)] = tile[t].v;
}

inline uint chunk_reverse_bits(uint x, uint bits) {
    uint r = 0;
    for (uint k = 0; k < bits; k++) r |= ((x >> k) & 1u) << (bits - 1u - k);
    return r;
}

/// For every chunk of 2^log_chunk elements: inverse DFT (natural order in and out), then subset sums
/// over the chunk's index bits; with zeta_tile set, subset sums over all bits of the tile once more.
/// Per element one product of an extension and a base element, and one more for every second bit of the chunk.
/// Cost: 2 * (p.log_chunk + 2) << p.log_tile products, 32 << p.log_tile bytes per threadgroup.
/// Lengths: in, out groups << p.log_tile.
/// Requires: p.log_chunk <= p.log_tile, p.log_tile <= 10.
[[max_total_threads_per_threadgroup(256)]]
kernel void poly_chunk_transform(device const FpExt* in [[buffer(0)]],
                                 device FpExt* out [[buffer(1)]],
                                 constant PolyChunkParams& p [[buffer(2)]],
                                 uint tid [[thread_index_in_threadgroup]],
                                 uint tpg [[threads_per_threadgroup]],
                                 uint group [[threadgroup_position_in_grid]]) {
    threadgroup FpExt tile[1024];
    threadgroup Fp twiddles[512];
    uint size = 1u << p.log_tile, chunk_mask = (1u << p.log_chunk) - 1u;
    ulong begin = ulong(group) << p.log_tile;
    for (uint t = tid; t < ((chunk_mask + 1u) >> 1); t += tpg) twiddles[t] = fp_pow(p.root_inv, t);
    for (uint t = tid; t < size; t += tpg) {
        tile[(t & ~chunk_mask) | chunk_reverse_bits(t & chunk_mask, p.log_chunk)] = in[begin + t] * p.scale;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint b = 0; b < p.log_chunk; b++) {
        uint step = 1u << b, low_mask = step - 1u;
        for (uint q = tid; q < (size >> 1); q += tpg) {
            uint u = ((q & ~low_mask) << 1) | (q & low_mask);
            FpExt x = tile[u], y = tile[u + step] * twiddles[(q & low_mask) << (p.log_chunk - 1u - b)];
            tile[u] = x + y;
            tile[u + step] = x - y;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    threadgroup Fp4* words = (threadgroup Fp4*)tile;
    zeta_tile_bits<false>(words, size, 0u, p.log_chunk, tid, tpg);
    if (p.zeta_tile != 0u) zeta_tile_bits<false>(words, size, 0u, p.log_tile, tid, tpg);
    for (uint t = tid; t < size; t += tpg) out[begin + t] = tile[t];
}
