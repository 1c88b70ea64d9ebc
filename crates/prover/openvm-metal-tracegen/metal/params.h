#pragma once
// Parameters of the kernels that make traces; the same structs are in src/params.rs.
#include <metal_stdlib>
using namespace metal;

/// Trace of a chip from its records, and where the counts of the lookup tables are. Offsets are in counts.
struct ChipParams {
    ulong height;         ///< rows of the trace
    uint rows;            ///< records
    uint counts;          ///< counts of all tables
    uint bitwise;         ///< offset of the bitwise table: 2^16 range checks, then 2^16 operations
    uint tuple;           ///< offset of the range tuple table
    uint tuple_size;      ///< values of the second number of a tuple
    uint range_bits;      ///< most bits of a range check
    uint timestamp_bits;  ///< bits of a timestamp
    uint pointer_bits;    ///< bits of a pointer into memory
};

/// Trace of a lookup table from its counts.
struct TableParams {
    uint height;  ///< rows of the trace
    uint offset;  ///< offset of the table's counts
    uint shape;   ///< range tuple: values of the second number
    uint counts;  ///< counts of all tables
};

/// Trace of the Poseidon2 chip.
struct Poseidon2Params {
    uint height;  ///< rows of the trace
    uint rows;    ///< inputs; the rows after them are permutations of zeros
    uint cubes;   ///< 1 if each S-box has a column for its cube, else 0
};
