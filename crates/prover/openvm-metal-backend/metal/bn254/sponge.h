#pragma once
// The sponge over rows of BabyBear cells, in overwrite mode without padding: width 3, of which words 0 and 1 are the rate. Eight cells are one word,
// sum of c[i] 2^(31 i) of canonical integers c[i]; a block is 16 cells. A last block of fewer overwrites only the words it has cells for. The digest is word 0.
#include "../field/lane_ops.h"
#include "poseidon2.h"

typedef Bn254NodeT<uint_l> Bn254NodeL;
/// A node, and two neighbouring ones, 16-byte aligned: a buffer of nodes begins at a multiple of 256 bytes.
template <typename U>
struct alignas(sizeof(U) > 16 ? sizeof(U) : 16) Bn254CellsT {
    U v[8];
};
template <typename U>
struct alignas(sizeof(U) > 16 ? sizeof(U) : 16) Bn254PairT {
    U v[16];
};
typedef Bn254CellsT<uint> Bn254Cells;
typedef Bn254CellsT<uint_l> Bn254CellsL;
typedef Bn254PairT<uint> Bn254Pair;
typedef Bn254PairT<uint_l> Bn254PairL;
#if LANE_WIDTH > 1
template <> struct lane_type<Bn254Node> { typedef Bn254NodeL type; };
template <> struct lane_type<Bn254Cells> { typedef Bn254CellsL type; };
template <> struct lane_type<Bn254Pair> { typedef Bn254PairL type; };
#endif

inline void bn_load(device const Bn254Node* nodes, index_l i, thread uint_l* s) {
    Bn254CellsL x = lane_load((device const Bn254Cells*)nodes, i);
    MSL_UNROLL for (uint k = 0; k < 8u; k++) s[k] = x.v[k];
}
inline void bn_store(device Bn254Node* nodes, index_l i, thread const uint_l* s) {
    Bn254CellsL x;
    MSL_UNROLL for (uint k = 0; k < 8u; k++) x.v[k] = s[k];
    lane_store((device Bn254Cells*)nodes, i, x);
}

/// The integer of eight cells, canonical ones.
inline void bn_pack(thread const uint_l* cells, thread uint_l* word) {
    word[0] = cells[0] | (cells[1] << 31u);
    MSL_UNROLL for (uint k = 1; k < 7u; k++) word[k] = (cells[k] >> k) | (cells[k + 1u] << (31u - k));
    word[7] = cells[7] >> 7u;
}
/// Eight cells of a row from a column on, of which the matrix has `left`: those that it lacks are zero.
inline void bn_cells(device const Fp* column, index_l row, ulong height, uint left, thread uint_l* cells) {
    MSL_UNROLL for (uint i = 0; i < 8u; i++) {
        cells[i] = uint_l(0u);
        if (left > i) {
            FpL x = lane_load(column + i * height, row);
            cells[i] = fp_to_u32(x);
        }
    }
}
inline void bn_cells(device const FpExt* column, index_l row, ulong height, uint left, thread uint_l* cells) {
    MSL_UNROLL for (uint i = 0; i < 8u; i++) cells[i] = uint_l(0u);
    MSL_UNROLL for (uint k = 0; k < 2u; k++) {
        if (left > k) {
            FpExtL x = lane_load(column + k * height, row);
            MSL_UNROLL for (uint i = 0; i < 4u; i++) cells[4u * k + i] = fp_to_u32(x.c[i]);
        }
    }
}
/// Absorbs row `row` of a matrix of columns of which CELLS are eight cells: ceil(width / (2 CELLS)) permutations, each cell read once. Then s[0..8] is the
/// digest.
template <uint CELLS, typename T> inline void bn_absorb_row(thread uint_l* s, device const T* matrix, index_l row, ulong height, uint width) {
    device const T* column = matrix;
    // One permutation in the code, and one place that reads cells: words 0 and 1 change places twice.
    MSL_ROLLED for (uint left = width; left != 0u; left = left > 2u * CELLS ? left - 2u * CELLS : 0u) {
        MSL_ROLLED for (uint w = 0; w < 2u; w++) {
            uint_l word[8];
            MSL_UNROLL for (uint k = 0; k < 8u; k++) word[k] = s[k];
            if (left > CELLS * w) {
                uint_l cells[8];
                bn_cells(column, row, height, left - CELLS * w, cells);
                bn_pack(cells, word);
            }
            MSL_UNROLL for (uint k = 0; k < 8u; k++) {
                s[k] = s[8u + k];
                s[8u + k] = word[k];
            }
            column += CELLS * height;
        }
        bn_permute<3>(s, left > CELLS ? 3u : 1u);
    }
}
inline void bn_absorb_row(thread uint_l* s, device const Fp* matrix, index_l row, ulong height, uint width) {
    bn_absorb_row<8, Fp>(s, matrix, row, height, width);
}
inline void bn_absorb_row(thread uint_l* s, device const FpExt* matrix, index_l row, ulong height, uint width) {
    bn_absorb_row<2, FpExt>(s, matrix, row, height, width);
}
inline void bn_reset(thread uint_l* s) {
    MSL_UNROLL for (uint i = 0; i < 24u; i++) s[i] = uint_l(0u);
}
