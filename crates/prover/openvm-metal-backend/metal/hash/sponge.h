#pragma once
// The padding-free sponge in overwrite mode (rate 8, capacity 8) over a row of a column-major matrix, and
// the compression of two digests.
#include "../field/digest.h"
#include "../field/lane_ops.h"
#include "poseidon2.h"

/// Two neighbouring digests, 16-byte aligned: a buffer of digests begins at a multiple of 256 bytes.
template <typename U>
struct alignas(sizeof(U) > 16 ? sizeof(U) : 16) DigestPairT {
    FpT<U> d[16];
};
template <typename U>
struct alignas(sizeof(U) > 16 ? sizeof(U) : 16) DigestCellsT {
    FpT<U> d[8];
};
typedef DigestPairT<uint> DigestPair;
typedef DigestPairT<uint_l> DigestPairL;
typedef DigestCellsT<uint> DigestCells;
typedef DigestCellsT<uint_l> DigestCellsL;
#if LANE_WIDTH > 1
template <> struct lane_type<DigestPair> { typedef DigestPairL type; };
template <> struct lane_type<DigestCells> { typedef DigestCellsL type; };
#endif

template <typename U> inline void sponge_reset(thread FpT<U>* s) {
    MSL_UNROLL for (uint i = 0; i < 16u; i++) s[i] = fp_zero<U>();
}
/// Absorbs row `row` of a base-field matrix: ceil(width / 8) permutations, 4 * width bytes read. Then s[0..8] is the digest, or if `keeps`, for a
/// multiple of 8 columns, s[8..16] the capacity; the other half is not to be read. `next`: the row that is likely to follow, whose first block processors fetch during
/// the last permutation.
inline void sponge_absorb_row(thread FpL* s, device const Fp* matrix, index_l row, ulong next, ulong height, uint width, bool keeps = false) {
    device const Fp* column = matrix;
    // One permutation in the code, the largest part of every kernel that hashes.
    MSL_ROLLED for (uint left = width; left != 0u; left = left > 8u ? left - 8u : 0u) {
        if (left >= 8u) {
            MSL_UNROLL for (uint i = 0; i < 8u; i++) s[i] = lane_load(column + i * height, row);
        } else {
            MSL_UNROLL for (uint i = 0; i < 7u; i++) {
                if (i < left) s[i] = lane_load(column + i * height, row);
            }
        }
        column += 8u * height;
#if LANE_WIDTH > 1
        // A column is a page or more from the next: no processor foresees these reads, and a permutation is longer than it looks ahead.
        bool last = left <= 8u;
        device const Fp* ahead = last ? matrix + next : column + row.base;
        uint columns = last ? width : left - 8u;
        MSL_UNROLL for (uint i = 0; i < 8u; i++) {
            if (columns > i) __builtin_prefetch(ahead + i * height);
        }
#endif
        // A last block of fewer than 8 columns leaves words of the rate alone.
        poseidon2_permute_part<uint_l>(s, !keeps && left > 8u && left < 16u, keeps || left > 8u);
    }
}
/// Absorbs row `row` of an extension-field matrix: ceil(width / 2) permutations, 16 * width bytes read. Then s[0..8] is the digest. `next` as above.
inline void sponge_absorb_row(thread FpL* s, device const FpExt* matrix, index_l row, ulong next, ulong height, uint width) {
    MSL_ROLLED for (uint b = 0; b < width; b += 2u) {
        FpExtL x = lane_load(matrix + b * height, row);
        MSL_UNROLL for (uint i = 0; i < 4u; i++) s[i] = x.c[i];
        if (b + 1u < width) {
            x = lane_load(matrix + (b + 1u) * height, row);
            MSL_UNROLL for (uint i = 0; i < 4u; i++) s[4u + i] = x.c[i];
        }
#if LANE_WIDTH > 1
        if (b + 2u >= width) {
            for (uint i = 0; i < LANE_WIDTH; i += 4u) __builtin_prefetch(matrix + next + i);
        }
#endif
        poseidon2_permute_part<uint_l>(s, b + 3u == width, b + 2u < width);
    }
}
/// The capacity of a sponge that absorbed a multiple of 8 columns is all that what follows depends on.
inline void sponge_resume(thread FpL* s, device const Digest* states, index_l row) {
    DigestCellsL d = lane_load((device const DigestCells*)states, row);
    MSL_UNROLL for (uint k = 0; k < 8u; k++) s[8u + k] = d.d[k];
}
inline void sponge_keep(thread const FpL* s, device Digest* states, index_l row) {
    DigestCellsL d;
    MSL_UNROLL for (uint k = 0; k < 8u; k++) d.d[k] = s[8u + k];
    lane_store((device DigestCells*)states, row, d);
}
inline void digest_store(device Digest* out, index_l i, thread const FpL* s) {
    DigestCellsL d;
    MSL_UNROLL for (uint k = 0; k < 8u; k++) d.d[k] = s[k];
    lane_store((device DigestCells*)out, i, d);
}
inline void digest_load(device const Digest* in, index_l i, thread FpL* s) {
    DigestCellsL d = lane_load((device const DigestCells*)in, i);
    MSL_UNROLL for (uint k = 0; k < 8u; k++) s[k] = d.d[k];
}
