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

struct StackedWeightParams {
    FpExt point[32];  // coordinates of the index bits above the base
    uint len;         // weights
    uint log_base;    // entries of the base, as a logarithm
    uint bits;        // coordinates
    uint unused;
};

struct StackedRoundParams {
    FpExt u;          // the last challenge, by which the tables are folded
    FpExt one[2];     // factors of the sums over g_0, g_1 at X = 1
    FpExt two[3];     // factors of the sums over g_0, g_1, rotated g_1 at X = 2
    uint block;       // pairs of one threadgroup
    uint l_skip;
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
    uint r;      // index of the challenge to fold by
};

struct WhirExchangeParams {
    uint groups;   // threadgroups that left sums
    uint sums;     // of each: 1 or 2
    uint samples;  // 0 or 1
    uint at;       // where the log goes on
};

struct WhirChallengeParams {
    uint slot;  // of the witness
    uint at;    // where the log goes on
};

struct WhirEvaluateParams {
    uint block;  // coefficients of one threadgroup
    uint z;      // index of the point
};

struct WhirFoldParams {
    uint len;  // of the folded tables
    uint r;    // index of the challenge
};

struct WhirWeightParams {
    uint queries;
    uint log_low;    // entries of a low power table
    uint log_high;   // entries of a high power table
    uint terms;      // products of two extension tables
    uint accumulate; // 1: add to what the table holds
    uint block;      // low entries of one threadgroup
};
