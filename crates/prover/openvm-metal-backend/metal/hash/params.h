#pragma once
// Parameters of the hash kernels; the same structs are in src/params/hash.rs.
#include <metal_stdlib>
using namespace metal;

/// Leaves of a Merkle tree. Thread g, with T = g / query_stride and y = g % query_stride, hashes the rows
/// ((T << log_fold) + u) * query_stride + y, u < 2^log_fold, and combines their digests pairwise.
struct MerkleLeafParams {
    ulong height;      ///< rows of the matrix, at least the rows that are hashed
    uint threads;      ///< digests written
    uint width;        ///< columns
    uint log_stride;   ///< log2(query_stride)
    uint log_fold;     ///< at most 4
};

/// Rows of which some columns are absorbed. The matrix begins with them.
struct MerkleAbsorbParams {
    ulong height;      ///< rows of the matrix
    uint rows;         ///< rows that are absorbed
    uint width;        ///< columns, a multiple of 8
    uint resumes;      ///< 0 for the first columns
};

/// Levels of a Merkle tree within blocks of 2^log_block nodes of one layer.
struct MerkleSubtreeParams {
    ulong first;       ///< index in `tree` of the first node of the lowest layer
    uint log_nodes;    ///< log2 of the nodes of that layer
    uint levels;       ///< layers to compute
    uint log_block;    ///< log2 of the nodes of that layer for each threadgroup, at least `levels`
    uint unused;
};

/// Openings of a Merkle tree.
struct MerkleOpenParams {
    ulong height;      ///< rows of the matrix; rows beyond are zero
    ulong cells;       ///< queries * rows_per_query * width
    uint width;
    uint log_rows;     ///< log2(rows_per_query)
    uint log_stride;   ///< log2(query_stride), the depth of a Merkle proof
    uint siblings;     ///< queries * depth
};
