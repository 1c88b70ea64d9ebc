#pragma once
// Parameters of the GKR kernels; the same structs as in `src/params/gkr.rs`.
#include "../field/fp_ext.h"

/// Of `gkr_eq_heaps`. Coordinate `t` of the point is `coordinates[first + stride * t]`.
struct alignas(16) GkrEqParams {
    uint first;
    uint stride;
    uint low_vars;     // variables of the low heap
    uint high_vars;    // variables of the high heap
    uint skipped;      // last coordinates that the low heap is not over
    uint low_entries;  // entries of the low heap, which comes first (0: there is none)
    uint entries;      // of both
    uint vars;         // coordinates 1, .., vars are those of the heaps
};

/// Of `gkr_build_leaves` and `gkr_build_planes`.
struct alignas(16) GkrBuildParams {
    ulong quads;    // groups of four nodes of the layer that is read
    ulong real;     // those that are not padding
    FpExt padding;  // of the other nodes, 0 / padding
};

/// Of the kernels that evaluate one round of a layer's sumcheck.
struct alignas(16) GkrRoundParams {
    ulong pairs;      // pairs (y, 0), (y, 1) of the table that is evaluated
    uint chunk;       // pairs for each threadgroup, a power of two
    uint eq_low;      // first entry of the low eq table
    uint low_vars;    // its log size if the weight is a product of two tables
    uint eq_high;     // first entry of the high eq table
    uint split;       // 1 if the weight of y is low[y mod 2^low_vars] * high[y >> low_vars], else low[y]
    uint lambda;      // index of the challenge that batches denominators with numerators (first two rounds only)
    uint r;           // index of the challenge of the round before (not in the first round)
    uint xi;          // index of the coordinate of this round; if it is 0, the sum at 1 is taken in place of that at 0
    uint stores;      // 1: the folded rows of padding are written
    uint unused;
    ulong real;       // pairs that are not padding, a multiple of `chunk`
    ulong unused2;
    FpExt padding;    // nodes of padding are 0 / padding; they are not read
};

/// Of `gkr_start_layer`.
struct alignas(16) GkrStartParams {
    uint previous;  // where the section of the layer above begins in the log
    uint rounds;    // of this layer, at least 1
    uint pad[2];
};

/// Of `gkr_finish_round`.
struct alignas(16) GkrFinishParams {
    uint partials;  // threadgroups of the round
    uint xi;        // index of its coordinate in the log
    uint inverse;   // index of the coordinate's inverse in the working memory
    uint at;        // where the log of the round begins
};

/// Of `gkr_finish_layer`.
struct alignas(16) GkrTailParams {
    uint previous;  // where the section of the layer above begins in the log
    uint rounds;    // of this layer
    uint log_rows;  // of the columns that come in, to be folded by the last challenge; 2 to 12, below `rounds`
    uint eq;        // first entry of the heap of eq tables
    uint next;      // 1 if a layer follows, which is begun
    uint pad[3];
};
