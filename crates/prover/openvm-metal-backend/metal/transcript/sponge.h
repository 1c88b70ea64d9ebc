#pragma once
// The transcript on the device: a duplex sponge over Poseidon2 (rate 8, overwrite mode), the same as the host's `DuplexSponge`
// word by word.
//
// One SIMD-group goes through it, the first of a threadgroup, element i in its lanes i mod 16: nothing passes a barrier, and
// the rest of the threadgroup may compute meanwhile. Where SIMD-groups have fewer than 16 threads (a CPU) thread 0 does it all,
// with the elements in threadgroup memory.
#include "../field/fp_ext.h"
#include "../hash/spread.h"
#include "state.h"

constant constexpr uint TRANSCRIPT_RATE = 8u;
// Words that are observed or sampled at a time.
constant constexpr uint TRANSCRIPT_WORDS = 16u;

/// A sponge in use; all active threads agree on all but `cell`, `lane` and `row`.
struct TranscriptSponge {
    Fp cell;    // element `lane`, if spread
    uint lane;  // of 16
    uint absorb_idx;
    uint sample_idx;
    bool spread;  // over the lanes of the first SIMD-group
    bool active;  // a thread of that SIMD-group, or thread 0 if not spread
    SpreadRow row;
};

inline TranscriptSponge transcript_permute(TranscriptSponge t, threadgroup Fp* cells) {
    if (t.spread) {
        t.cell = spread_permute(t.cell, t.lane, t.row);
    } else {
        Fp s[TRANSCRIPT_WIDTH];
        for (uint i = 0; i < TRANSCRIPT_WIDTH; i++) s[i] = cells[i];
        poseidon2_permute<uint>(s);
        for (uint i = 0; i < TRANSCRIPT_WIDTH; i++) cells[i] = s[i];
    }
    t.absorb_idx = 0u;
    t.sample_idx = TRANSCRIPT_RATE;
    return t;
}

/// Takes up the sponge; `cells` are sixteen elements of threadgroup memory, `width` the threads of a SIMD-group.
inline TranscriptSponge transcript_load(device const TranscriptState* state, threadgroup Fp* cells, uint tid, uint width) {
    TranscriptSponge t;
    t.lane = tid % TRANSCRIPT_WIDTH;
    t.absorb_idx = state[0].absorb_idx % TRANSCRIPT_RATE;
    t.sample_idx = min(state[0].sample_idx, TRANSCRIPT_RATE);
    t.spread = width >= TRANSCRIPT_WIDTH;
    // The vote changes nothing; NVIDIA's compiler sees by it that a SIMD-group stays together.
    t.active = simd_any(tid < (t.spread ? width : 1u));
    t.cell = state[0].cells[t.lane];
    t.row = spread_row(t.lane);
    if (!t.spread && t.active) {
        for (uint i = 0; i < TRANSCRIPT_WIDTH; i++) cells[i] = state[0].cells[i];
    }
    return t;
}

/// Leaves the sponge to the next kernel.
inline void transcript_store(TranscriptSponge t, device TranscriptState* state, threadgroup const Fp* cells, uint tid) {
    if (t.spread && tid < TRANSCRIPT_WIDTH) state[0].cells[tid] = t.cell;
    if (tid == 0u) {
        if (!t.spread) {
            for (uint i = 0; i < TRANSCRIPT_WIDTH; i++) state[0].cells[i] = cells[i];
        }
        state[0].absorb_idx = t.absorb_idx;
        state[0].sample_idx = t.sample_idx;
        state[0].pad[0] = 0u;
        state[0].pad[1] = 0u;
    }
}

/// Active threads observe `observed` words and then sample `sampled`, at most sixteen each. Spread, word i comes in `word` of
/// the lanes i mod 16, and sampled word i is the result there; else words[0, observed) are observed and the others written
/// behind them.
inline Fp transcript_exchange(thread TranscriptSponge& t, threadgroup Fp* cells, threadgroup Fp* words, Fp word, uint observed,
                              uint sampled) {
    Fp out = fp_zero<uint>();
    uint total = observed + sampled;
    // One loop: one permutation in the code.
    MSL_ROLLED for (uint done = 0; done < total;) {
        bool absorbing = done < observed;
        if (absorbing) {
            uint n = min(TRANSCRIPT_RATE - t.absorb_idx, observed - done);
            if (t.spread) {
                uint k = t.lane - t.absorb_idx;
                Fp x = spread_from(word, (done + k) % TRANSCRIPT_WORDS);
                t.cell = Fp{select(t.cell.v, x.v, k < n)};
            } else {
                for (uint i = 0; i < n; i++) cells[t.absorb_idx + i] = words[done + i];
            }
            t.absorb_idx += n;
            done += n;
        }
        bool permute = absorbing ? t.absorb_idx == TRANSCRIPT_RATE : t.absorb_idx != 0u || t.sample_idx == 0u;
        if (permute) t = transcript_permute(t, cells);
        if (!absorbing) {
            uint n = min(t.sample_idx, total - done);
            if (t.spread) {
                uint k = t.lane - (done - observed);
                Fp x = spread_from(t.cell, (t.sample_idx - 1u - k) % TRANSCRIPT_WIDTH);
                out = Fp{select(out.v, x.v, k < n)};
            } else {
                for (uint i = 0; i < n; i++) words[done + i] = cells[t.sample_idx - 1u - i];
            }
            t.sample_idx -= n;
            done += n;
        }
    }
    return out;
}

/// For active threads: extension element `i` of sampled words, `out` as `transcript_exchange` gives it, `words` those behind
/// the observed ones.
inline FpExt transcript_sampled(TranscriptSponge t, threadgroup const Fp* words, Fp out, uint i) {
    FpExt x;
    for (uint k = 0; k < 4u; k++) {
        if (t.spread) x.c[k] = spread_from(out, 4u * i + k);
        else x.c[k] = words[4u * i + k];
    }
    return x;
}
/// For active threads: `n` words, as `transcript_exchange` has them, -> out[0, n).
inline void transcript_write(TranscriptSponge t, threadgroup const Fp* words, Fp word, device Fp* out, uint n, uint tid) {
    if (t.spread) {
        if (tid < n) out[tid] = word;
    } else {
        for (uint i = 0; i < n; i++) out[i] = words[i];
    }
}
