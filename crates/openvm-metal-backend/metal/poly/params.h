#pragma once
// By-value parameters of the polynomial kernels; the Rust twins are in src/params/poly.rs.
#include "../field/fp_ext.h"

// Most variables of a tensor table; a table of 2^32 extension elements is 64 GiB.
constant constexpr uint POLY_MAX_VARS = 32u;

// Table T[y] = scale * prod_i (bit i of y ? w1[i] : w0[i]), given by its factors.
struct PolyTensorParams {
    FpExt scale;
    FpExt w0[32];
    FpExt w1[32];
    uint low_bits;   // variables of the low factor: w[0 .. low_bits)
    uint high_bits;  // variables of the high factor: w[low_bits .. low_bits + high_bits)
    uint threads;    // 2^low_bits + 2^high_bits entries, or a prefix of the low factor alone
    uint pad;
};

struct PolyOuterParams {
    ulong len;             // entries of the table to write
    uint low_bits;
    uint rows_per_thread;  // high indices a thread visits
    uint threads;          // 2^low_bits * ceil(rows / rows_per_thread)
    uint pad;
};

struct PolyReduceParams {
    ulong len;        // elements of a segment
    ulong stride;     // from one segment to the next
    ulong block_len;  // elements of a segment that one threadgroup adds up
    uint blocks;      // threadgroups per segment
    uint pad;
};

struct PolyTensorDotParams {
    ulong len;            // elements of a segment
    ulong stride;         // from one segment to the next
    uint low_bits;
    uint rows_per_block;  // rows of 2^low_bits elements that one threadgroup adds up
    uint blocks;          // threadgroups per segment
    uint pad;
};

struct PolyFoldParams {
    FpExt r;
    uint threads;  // elements written
    uint pad[3];
};

struct PolyScanParams {
    ulong len;
};

struct PolyZetaParams {
    uint first_bit;  // lowest transformed bit of the element index
    uint bits;       // transformed bits: first_bit .. first_bit + bits
    uint run_bits;   // tiles keep runs of 2^run_bits consecutive elements; 0 if first_bit is 0
    uint subtract;   // 0: coefficients -> evaluations, 1: evaluations -> coefficients
};

struct PolyChunkParams {
    Fp root_inv;     // inverse of the 2^log_chunk-th root of unity
    Fp scale;        // 2^-log_chunk
    uint log_chunk;
    uint log_tile;   // elements of a threadgroup's tile, >= log_chunk
    uint zeta_tile;  // 1: subset sums over all bits of the tile as a last step
};
