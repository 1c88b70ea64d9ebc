#pragma once
// Parameters of the NTT kernels; the same structs are in src/params/ntt.rs.
#include <metal_stdlib>
using namespace metal;

/// One pass of a batched NTT. Strides are in words of 4 bytes.
struct NttParams {
    ulong src_stride;   ///< words between columns of the source
    ulong dst_stride;   ///< words between columns of the destination
    uint log_n;         ///< log2 of the transform size, at most 27
    uint log_message;   ///< the source has 2^log_message elements a column, standing for all 2^log_n
    uint first;         ///< first stage of this pass
    uint stages;        ///< stages covered by this pass, at most 8: a tile has 2^stages rows
    uint skipped;       ///< leading stages of the pass that change nothing (zero padding)
    uint radices;       ///< log2 of the radix of each round, 4 bits each, lowest first
    uint log_cells;     ///< log2 of the words of an element: 0 or 2
    uint columns;
    uint scale;         ///< factor of the results in Montgomery form, 0 for none
    uint sets;          ///< small sizes: groups of 16 words wide columns per threadgroup
};

/// One of the two passes of a transform on tall tiles. Strides are in words of 4 bytes.
struct NttTallParams {
    ulong src_stride;   ///< words between columns of the source
    ulong dst_stride;   ///< words between columns of the destination
    uint log_n;         ///< log2 of the transform size, at most 27
    uint log_message;   ///< columns of the first pass's source have 2^log_message words, or elements, standing for all 2^log_n
    uint stages;        ///< stages of this pass: a tile has 2^stages rows
    uint log_words;     ///< log2 of the words of a row of the tile, or of its elements where threads have whole ones
    uint scale;         ///< factor of the results in Montgomery form, 0 for none
    uint log_cells;     ///< log2 of the words of an element where a pass counts elements: 0 or 2. The first pass on words has 0
};

/// A matrix transposition: out[c * rows + r] = in[r * cols + c].
struct TransposeParams {
    ulong rows;
    ulong cols;
    uint log_tile;   ///< log2 of the columns of a tile, at most 5; it has 2^11 cells
    uint tiles;      ///< tiles side by side
};
