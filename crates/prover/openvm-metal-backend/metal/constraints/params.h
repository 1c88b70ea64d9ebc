#pragma once
// Structs shared with src/params/constraints.rs. "Words" are 4 bytes.
#include "../field/fp_ext.h"

/// One instruction of a program: see src/programs/program.rs.
struct alignas(16) ConstraintInstruction {
    uint head;  // operation | sink kind << 4 | sink index << 8
    uint a, b, c;  // operand kind << 28 | index
};

/// A column (or selector) to read from the traces.
struct ConstraintColumn {
    ulong first;  // cell of row 0 in its source
    uint source;  // source slot | kind << 8 | next << 16 | log2 of the row stride << 24
    uint column;       // destination column
    uint next_column;  // fold only: destination of the rotated column, or ~0
    uint unused;
};

/// Columns of one trace to extend (`constraint_extend`), copy (`constraint_gather`) or fold
/// (`constraint_fold_ple`).
struct ConstraintColumnJob {
    ulong dst;           // word of destination column 0 (coset 0)
    ulong coset_stride;  // words
    uint first_group;    // threadgroup of the dispatch
    uint first_column;   // entry of the column table
    uint threads;        // columns << log_points
    uint log_points;     // x (extend), rows (gather) or results (fold) of each column
    uint first_point;
    uint height_mask;    // height of the trace - 1
    uint column_stride;  // words between destination columns; open_next: x of a threadgroup
    uint cosets;         // extend only
};
struct ConstraintColumnParams {
    uint l_skip;
    uint block;  // threads of a threadgroup's share
    uint first_source;
    uint unused;
};

/// Points at which a range of a program is evaluated.
struct ConstraintEvalJob {
    ulong arena;         // word of variable 0 at point 0
    ulong partials;      // word of plane 0 of accumulator 0 at point 0; leaves: row of point 0
    uint first_group;
    uint points;
    uint column_stride;  // words between columns (base field) or planes (extension field) of the arena
    uint plane_stride;   // words between planes of the results
    uint code_begin, code_end;
    uint coefficients;   // first entry of the coefficient table
    uint uniforms;       // first entry of the uniform table
    uint accumulators;   // 1 or 2
    uint step;           // extension field: X at which pairs of rows are evaluated; 0: no pairs
    uint half_rows;      // extension field: points between the rows of a pair
    uint leaves;         // leaves: first entry of the interaction table
    uint norm;           // leaves: factor of the numerators, Montgomery
    uint unused;
};
struct ConstraintEvalParams {
    uint block;        // points of a threadgroup
    uint spill_slots;  // of each threadgroup
};

/// One interaction of the GKR input layer.
struct alignas(16) ConstraintLeaf {
    FpExt constant_term;  // alpha + beta^len (bus + 1)
    ulong first;          // leaf of row 0
    ulong unused;
};

/// One weighted sum of evaluations.
struct ConstraintSumJob {
    ulong partials;     // word of plane 0 of element 0
    uint plane_stride;  // words
    uint length;        // elements of a section
    uint sections;
    uint section_stride;  // words
    uint weights;       // entry of the eq tables for element 0
    uint unused;
};

/// One eq table.
struct ConstraintEqJob {
    ulong out;         // entry
    uint first_group;
    uint vars;
    uint point;        // first coordinate
    uint reversed;     // 1: the first coordinate is the highest bit of the index
};

/// Where an interaction lies among all stacked interactions.
struct ConstraintPlace {
    uint place;  // bits of the variables behind those of its trace
    uint first;  // coordinate of the first of these
    uint bits;
};

/// A summand of a LogUp weight.
struct ConstraintWeightTerm {
    uint interaction;
    uint power;  // of beta
    Fp factor;
};

/// Fold of pairs of rows of one trace's columns.
struct ConstraintFoldJob {
    ulong arena;       // word of plane 0 of column 0
    uint first_group;
    uint threads;      // planes of four words << log_half
    uint log_half;
    uint plane_stride;
};
struct ConstraintEqParams {
    uint stride;  // elements from one coordinate to the next
    uint block;   // threads of a threadgroup's share
};
struct ConstraintFoldParams {
    uint r;      // index of the challenge
    uint block;  // threads of a threadgroup's share
};

/// What a round over the hypercube knows of a claim (`finish.h`).
struct alignas(16) ConstraintClaim {
    FpExt factor;    // of its polynomial in the batch
    uint degree;     // of its polynomial in a variable; 0: a constant
    uint variables;  // of its trace: rounds that it takes part in
    uint logup;      // 1: weighted by eq_sharp
    uint unused;
};

/// Of `constraint_finish_round`.
struct alignas(16) ConstraintFinishParams {
    FpExt xi;       // coordinate of the round's variable
    FpExt inverse;  // of 1 - xi
    Fp inverse_factorials[8];
    uint claims;
    uint round;   // from 1
    uint degree;  // of the key: degree + 1 values are sent
    uint at;      // where the round begins in the log: degree + 1 values, then r
};

/// A column that is folded to one element: its opening.
struct ConstraintOpening {
    ulong arena;       // word of plane 0
    uint plane_stride;
    uint unused;
};
