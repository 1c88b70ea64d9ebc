#pragma once
// A duplex sponge in device memory.
#include "../field/baby_bear.h"

constant constexpr uint TRANSCRIPT_WIDTH = 16u;

/// Rust twin: src/params/transcript.rs.
struct TranscriptState {
    Fp cells[TRANSCRIPT_WIDTH];
    uint absorb_idx;  // next element to be overwritten, below 8
    uint sample_idx;  // elements that are left to be sampled, at most 8
    uint pad[2];
};
