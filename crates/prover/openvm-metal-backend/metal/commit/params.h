#pragma once
// Parameters of the commitment kernels; the Rust side is `src/params/commit.rs`.

/// One range of the stacked matrix on its way into the codeword matrix. Units are chunks of
/// 2^l_skip cells.
struct CommitMessageParams {
    ulong first;          // stacked index of the first chunk of this dispatch
    ulong skip;           // chunks of the range before this dispatch
    uint log_column;      // log2 of the chunks in a stacked column
    uint log_code_column; // log2 of the chunks in a codeword column
    uint divided;         // 0: coefficients times 2^l_skip, which the transform divides by
    uint unused;
};

/// Copy of one small trace into the buffer of all such. Cell i of its section is source cell
/// i >> log_stride if the low bits of i are zero, else 0.
struct CommitGatherJob {
    ulong source_start; // cells, within the source buffer
    ulong target_start; // cells, within the target
    ulong len;          // cells of the section, a multiple of 2^l_skip
    uint source;        // which source buffer; COMMIT_SOURCES: none, the section is zero
    uint log_stride;
};

/// Buffers that one gather dispatch reads.
#define COMMIT_SOURCES 16
#define COMMIT_JOBS 64
struct CommitGatherParams {
    CommitGatherJob jobs[COMMIT_JOBS];
};

/// Opened rows of columns of which the last pass of the transform, or several, are left out.
struct CommitOpenParams {
    uint queries;
    uint width;        // columns, 2^log_n words each
    uint log_n;        // log2 of the rows
    uint log_run;      // log2 of the neighbours that what is left out would transform together
    uint log_terms;    // log2 of the words of a run that count: of the message, if that is shorter
    uint log_rows;     // log2 of the rows that a query opens
    uint log_stride;   // log2 of the distance between two of them
    uint scale;        // factor of the results in Montgomery form, 0 for none
};
