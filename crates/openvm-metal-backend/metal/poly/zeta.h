#pragma once
// Subset sums (zeta transform: multilinear coefficients -> evaluations) and their inverse (Moebius)
// over bits of a tile index, on tiles of extension elements in threadgroup memory. The transform adds
// component by component, so an element is one vector of four words.
#include "params.h"

typedef FpT<uint4> Fp4;

// Elements of a tile at most: 16 KiB of threadgroup memory.
constant constexpr uint ZETA_TILE = 1024u;

template <bool SUBTRACT>
inline Fp4 zeta_step(Fp4 high, Fp4 low) {
    if (SUBTRACT) return high - low;
    return high + low;
}

/// Transforms bits [first, first + bits) of the tile index, two bits per sweep; one barrier per sweep.
template <bool SUBTRACT>
inline void zeta_tile_bits(threadgroup Fp4* tile, uint size, uint first, uint bits, uint tid, uint tpg) {
    uint b = first, end = first + bits;
    for (; b + 1u < end; b += 2u) {
        uint step = 1u << b, low_mask = step - 1u;
        for (uint q = tid; q < (size >> 2); q += tpg) {
            uint u = ((q & ~low_mask) << 2) | (q & low_mask);
            Fp4 x0 = tile[u], x1 = tile[u + step], x2 = tile[u + 2u * step], x3 = tile[u + 3u * step];
            x1 = zeta_step<SUBTRACT>(x1, x0);
            x3 = zeta_step<SUBTRACT>(x3, x2);
            tile[u + step] = x1;
            tile[u + 2u * step] = zeta_step<SUBTRACT>(x2, x0);
            tile[u + 3u * step] = zeta_step<SUBTRACT>(x3, x1);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (b < end) {
        uint step = 1u << b, low_mask = step - 1u;
        for (uint q = tid; q < (size >> 1); q += tpg) {
            uint u = ((q & ~low_mask) << 1) | (q & low_mask);
            tile[u + step] = zeta_step<SUBTRACT>(tile[u + step], tile[u]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

/// Address of tile element t of threadgroup `group`: the tile spans bits [0, run_bits) and
/// [first_bit, first_bit + bits) of the element index, the group number the others.
inline ulong zeta_address(PolyZetaParams p, uint group, uint t) {
    uint between = p.first_bit - p.run_bits;
    ulong middle = ulong(group) & ((1ul << between) - 1ul);
    ulong high = ulong(group) >> between;
    ulong run = t & ((1u << p.run_bits) - 1u);
    return (high << (p.first_bit + p.bits)) | (ulong(t >> p.run_bits) << p.first_bit) | (middle << p.run_bits) | run;
}
