#pragma once
// Parameters of the GKR kernels; the same structs as in `src/params/gkr.rs`.
#include "../field/fp_ext.h"

constant constexpr uint GKR_MAX_VARS = 32u;

/// Of `gkr_eq_heaps`.
struct alignas(16) GkrEqParams {
    FpExt low[GKR_MAX_VARS];   // coordinates of the low heap, last one first
    FpExt high[GKR_MAX_VARS];  // coordinates of the high heap, last one first
    uint low_entries;          // entries of the low heap, which comes first (0: there is none)
    uint entries;              // of both
    uint levels;               // coordinates to look at, the larger of the two
    uint unused;
};

/// Of `gkr_build_leaves` and `gkr_build_planes`.
struct alignas(16) GkrBuildParams {
    ulong quads;  // groups of four nodes of the layer that is read
    ulong unused;
};

/// Of the kernels that evaluate one round of a layer's sumcheck.
struct alignas(16) GkrRoundParams {
    FpExt lambda;     // batches denominators with numerators (first two rounds only)
    FpExt r;          // challenge of the round before (not in the first round)
    ulong pairs;      // pairs (y, 0), (y, 1) of the table that is evaluated
    uint chunk;       // pairs for each threadgroup, a power of two
    uint eq_low;      // first entry of the low eq table
    uint low_vars;    // its log size if the weight is a product of two tables
    uint eq_high;     // first entry of the high eq table
    uint split;       // 1 if the weight of y is low[y mod 2^low_vars] * high[y >> low_vars], else low[y]
    uint at_one;      // 1: evaluate at 1 in place of 0
};
