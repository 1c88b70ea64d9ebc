#pragma once
// Tiles of 2^r rows of 16 words in threadgroup memory, and the butterflies on them.
//
// A transform of size 2^n is n stages. Stage s pairs elements that differ in index bit n - 1 - s and
// multiplies the second by z[j], j = the s index bits above: (a, b) -> (a + z[j] b, a - z[j] b), with
// z[j] = w^(N/2 * 0.j_0 j_1 j_2...), the bits of j read as a binary fraction, lowest bit first. So z does not
// depend on N or s, z[j + h] = z[j] z[h] for disjoint bits, and the result is in bit-reversed order.
//
// A pass covers r consecutive stages. On CPUs the lanes run over the 16 columns of a tile, so that every
// access is to a whole vector and (but for the last pass) every twiddle factor is uniform.
#include "../field/baby_bear.h"
#include "params.h"

constant constexpr uint NTT_COLUMNS = 16u;       // words of a tile row
constant constexpr uint NTT_LOG_TABLE = 13u;     // z[j], j < 2^13, then z[h << 13] for h < 2^13

/// z[j]: one product beyond the first 2^13.
inline Fp ntt_root(device const Fp* roots, uint j) {
    Fp low = roots[j & ((1u << NTT_LOG_TABLE) - 1u)];
    uint h = j >> NTT_LOG_TABLE;
    return h == 0u ? low : low * roots[(1u << NTT_LOG_TABLE) + h];
}

#if LANE_WIDTH > 1
#define NTT_LANES(i) index_l(ulong(i), 1ul)
inline uint ntt_thread(tid_l tid) { return (uint)tid.base; }
inline uint ntt_at(uint row, uint col) { return row * NTT_COLUMNS + col; }
inline FpL ntt_get(threadgroup const uint* tile, uint row, uint col) { return FpL{lane_load(tile, NTT_LANES(ntt_at(row, col)))}; }
inline void ntt_put(threadgroup uint* tile, uint row, uint col, FpL x) { lane_store(tile, NTT_LANES(ntt_at(row, col)), x.v); }
/// Columns of 2^20 words and more leave no room in a cache: what ends them goes past it.
constant constexpr uint NTT_LOG_STREAMED = 20u;
#else
#define NTT_LANES(i) index_l(i)
inline uint ntt_thread(tid_l tid) { return tid; }
/// Rows that 32 threads touch together lie in different banks, along rows and along columns.
inline uint ntt_at(uint row, uint col) {
    return ((row ^ ((row >> 4) & 1u)) * NTT_COLUMNS) | (col ^ (row & 15u));
}
inline FpL ntt_get(threadgroup const uint* tile, uint row, uint col) { return FpL{tile[ntt_at(row, col)]}; }
inline void ntt_put(threadgroup uint* tile, uint row, uint col, FpL x) { tile[ntt_at(row, col)] = x.v; }
#endif

/// Source word `word`, where words repeat with period mask + 1 (a power of two).
#if LANE_WIDTH > 1
inline FpL ntt_source(device const Fp* src, uint word, uint mask) {
    if (mask < LANE_WIDTH - 1u) return lane_gather(src, to_vec(NTT_LANES(word)) & uint_l(mask));
    return lane_load(src, NTT_LANES(word & mask));
}
#else
inline FpL ntt_source(device const Fp* src, uint word, uint mask) { return src[word & mask]; }
#endif

/// Rows of the 2^Q elements of work item `g` in a round that begins at stage t of r.
struct NttItem {
    uint block;   // index bits above
    uint first;   // row of element 0
    uint log_step;
};
template <uint Q> inline NttItem ntt_item(uint g, uint t, uint r) {
    NttItem item;
    item.log_step = r - t - Q;
    item.block = g >> item.log_step;
    item.first = (item.block << (item.log_step + Q)) | (g & ((1u << item.log_step) - 1u));
    return item;
}

/// x[i] + b and x[i] - b. `factors`: both are only multiplied next, so they are not reduced.
template <typename U> inline void ntt_butterfly(thread FpT<U>* x, uint i, uint half_size, FpT<U> b, bool factors) {
    FpT<U> a = x[i];
    x[i] = factors ? fp_add_loose(a, b) : a + b;
    x[i + half_size] = factors ? fp_sub_loose(a, b) : a - b;
}
/// Whether the stage after one of `half_size` multiplies element i of a round: it takes those of the upper halves.
inline constexpr bool ntt_is_factor(uint i, uint half_size) { return (i & (half_size >> 1)) != 0u; }
/// Q stages on 2^Q elements; the factor of stage t, block m is factors[2^t + m], the same for all columns.
/// Q * 2^(Q-1) products.
template <uint Q> inline void ntt_butterflies(thread FpL* x, threadgroup const uint* factors, uint t, uint block) {
    MSL_UNROLL for (uint u = 0; u < Q; u++) {
        uint half_size = 1u << (Q - 1u - u);
        MSL_UNROLL for (uint m = 0; m < (1u << u); m++) {
            Fp w = Fp{factors[(1u << (t + u)) + (block << u) + m]};
            MSL_UNROLL for (uint k = 0; k < half_size; k++) {
                uint i = 2u * half_size * m + k;
                ntt_butterfly(x, i, half_size, x[i + half_size] * w, ntt_is_factor(i, half_size));
            }
        }
    }
}
/// The same where each column has its own factor: columns[(2^t + m) * 16 + col] for t < known, else
/// z[m] * columns[2^t * 16 + col] (kept at row 16 + t). 2^Q - 1 products more.
template <uint Q> inline void ntt_column_butterflies(thread FpL* x, threadgroup const uint* columns, device const Fp* roots, uint col, uint t, uint block, bool known) {
    MSL_UNROLL for (uint u = 0; u < Q; u++) {
        uint half_size = 1u << (Q - 1u - u);
        FpL base = FpL(fp_zero<uint_l>());
        if (!known) base = ntt_get(columns, 16u + t + u, col);
        MSL_UNROLL for (uint m = 0; m < (1u << u); m++) {
            FpL w = known ? ntt_get(columns, (1u << (t + u)) + (block << u) + m, col) : base * roots[(block << u) + m];
            MSL_UNROLL for (uint k = 0; k < half_size; k++) {
                uint i = 2u * half_size * m + k;
                ntt_butterfly(x, i, half_size, x[i + half_size] * w, ntt_is_factor(i, half_size));
            }
        }
    }
}
