#pragma once
// By-value parameters and job tables of the opening kernels; the Rust twins are in src/params/openings.rs.
#include "../field/fp_ext.h"

// Neighbouring columns of one length in a range of a stacked matrix.
struct StackedColumnJob {
    ulong cells;        // first cell of the first column, relative to the range
    ulong out;          // first element of the output
    uint log_rows;      // column length
    uint columns;
    uint weight;        // index of the first column among all columns
    uint first_group;   // threadgroups of earlier jobs
    uint log_block;     // rows of one threadgroup
    uint chunk;         // columns of one threadgroup
    uint accumulate;    // 1: add to what the output holds
    uint rotated;       // 1: some column is opened at its rotation too
    uint source;        // which of the sources the range is
    uint unused;
};

// The tables of one height, or slots that are added up.
struct StackedTableJob {
    ulong from;         // first element that is read
    ulong to;           // first element that is written
    uint len;           // points or pairs of the job; elements of a slot
    uint first_group;   // threadgroups of earlier jobs
    uint slots;         // slots that are added up
    uint log_len;       // variables of a table of weights
};

// A block of the stacked matrices in a round: the fold of a pair of the round before, or a column that has just been bound to one value.
struct StackedBlock {
    uint from;     // the pair, or the first share of the column's value; STACKED_NONE: a block of zeros
    uint column;   // index of the column among all columns, or STACKED_NONE
    uint factors;  // index of the column's two factors
};
constant constexpr uint STACKED_NONE = 0xffffffffu;

// Working memory of the rounds after the univariate one: their challenges u_1, u_2, .., and factors.
constant constexpr uint STACKED_EQ = 32u;    // of lambda_eq, for columns that are bound to one value
constant constexpr uint STACKED_ROT = 33u;   // of lambda_rot
constant constexpr uint STACKED_STEP = 34u;  // the part of it that weights shifted by one have
constant constexpr uint STACKED_ONE = 35u;   // of the sums over g_0, g_1 at X = 1
constant constexpr uint STACKED_TWO = 37u;   // of the sums over g_0, g_1, rotated g_1 at X = 2
constant constexpr uint STACKED_SMALL = 40u; // of lambda_eq and lambda_rot, for columns of fewer rows than 2^l_skip

struct StackedWeightParams {
    uint len;         // weights
    uint log_base;    // entries of the base, as a logarithm
    uint bits;        // coordinates of the index bits above the base
    uint first;       // of these coordinates
};

struct StackedValueParams {
    uint log_low;     // entries of the low weights
    uint quads;       // 1: ranges begin at multiples of four cells in memory
};

struct StackedRoundParams {
    uint block;       // pairs of one threadgroup
    uint l_skip;
    uint round;       // from 1 on
    uint unused;
};

struct StackedBlocksParams {
    uint pairs;       // of blocks
    uint log_shares;  // summands of a column's value, as a logarithm
    uint round;       // from 1 on
    uint block;       // pairs of one threadgroup
};

struct StackedFinishParams {
    FpExt r;          // coordinate of the variable of the round
    FpExt next;       // that of the next round
    uint groups;      // threadgroups that left sums
    uint round;       // from 1 on
    uint unused[2];
};

struct StackedTableParams {
    uint block;       // points, or words, of one threadgroup
    uint l_skip;
    uint log_low;     // variables of the low weights at most
    uint unused;
};

struct OpeningsContractParams {
    ulong offsets[3];  // first elements of the input tables
    uint tables;       // input tables: 1 to 3
    uint terms;        // products summed up for each output
    uint len;          // outputs of each table
    uint weights;      // index of the first weight
};

struct OpeningsFoldParams {
    uint len;         // outputs
    uint log_block;   // neighbouring inputs of an output
    uint weights;     // index of the first weight
    uint out_stride;  // distance of neighbouring outputs
};

struct WhirBatchParams {
    ulong len;          // cells of the range
    ulong start;        // index of its first cell in the stacked matrix
    uint log_height;    // of the stacked matrix
    uint log_block;     // rows of one threadgroup
    uint first_column;  // stacked columns of earlier commitments
    uint accumulate;    // 1: add to what the output holds
};

struct WhirRoundParams {
    uint block;  // pairs of one threadgroup
};

struct WhirFoldParams {
    FpExt r;     // challenge to fold by
    uint count;  // pairs of one threadgroup if the round is summed, else elements of a folded table
    uint unused[3];
};

struct WhirWeightParams {
    uint queries;
    uint log_low;    // entries of a low power table
    uint log_high;   // entries of a high power table
    uint terms;      // products of two extension tables
    uint accumulate; // 1: add to what the table holds
    uint block;      // low entries of one threadgroup
};
