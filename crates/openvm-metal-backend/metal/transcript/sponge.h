#pragma once
// The transcript on the device: a duplex sponge over Poseidon2 (rate 8, overwrite mode), the same as the host's `DuplexSponge`
// word by word. One threadgroup goes through it together.
//
// With SIMD-groups of 16 threads or more each of them has the whole sponge, element i in the lanes i mod 16: a permutation
// is then 3 sequential products and 5 shuffles for each of its 21 rounds, where one thread would wait for 564 products.
// Narrower ones (a CPU) keep the elements in threadgroup memory, and thread 0 permutes them.
#include "../field/fp_ext.h"
#include "../hash/poseidon2.h"

constant constexpr uint TRANSCRIPT_RATE = 8u;
constant constexpr uint TRANSCRIPT_WIDTH = 16u;

/// Rust twin: src/params/transcript.rs.
struct TranscriptState {
    Fp cells[TRANSCRIPT_WIDTH];
    uint absorb_idx;  // next element to be overwritten, below 8
    uint sample_idx;  // elements that are left to be sampled, at most 8
    uint pad[2];
};

/// A sponge in use; all threads of the threadgroup agree on all but `cell`, `lane` and `tid`.
struct TranscriptSponge {
    Fp cell;        // element `lane`, if spread
    uint lane;      // of 16
    uint tid;
    uint absorb_idx;
    uint sample_idx;
    bool spread;    // over the lanes of each SIMD-group
};

/// Diagonal of the internal matrix, in Montgomery form: `V` of `p2_internal`.
constant constexpr uint TRANSCRIPT_DIAGONAL[TRANSCRIPT_WIDTH] = {
    0x58000005u, 0x0ffffffeu, 0x1ffffffcu, 0x07ffffffu, 0x2ffffffau, 0x3ffffff8u, 0x70000002u, 0x48000007u,
    0x38000009u, 0x01000000u, 0x40000000u, 0x20000000u, 0x00000020u, 0x77000001u, 0x68000001u, 0x77ffffe1u,
};

inline Fp transcript_xor(Fp x, uint mask) { return Fp{simd_shuffle_xor(x.v, ushort(mask))}; }

/// The external matrix on sixteen lanes: every block of four plus the sum of all blocks, times the circulant (2, 3, 1, 1).
inline Fp transcript_external(Fp s, uint lane) {
    Fp sum = s + transcript_xor(s, 4u);
    Fp t = s + (sum + transcript_xor(sum, 8u));
    Fp x1 = transcript_xor(t, 1u), x2 = transcript_xor(t, 2u), x3 = transcript_xor(t, 3u);
    Fp next = Fp{select(x1.v, x3.v, (lane & 1u) != 0u)};
    return ((t + x1) + (x2 + x3)) + (t + fp_double(next));
}

/// The permutation, one element on each of sixteen lanes.
inline Fp transcript_permute_lanes(Fp s, uint lane) {
    bool first = lane == 0u;
    Fp diagonal = Fp{TRANSCRIPT_DIAGONAL[lane]};
    s = transcript_external(s, lane);
    MSL_ROLLED for (uint r = 0; r < 8u; r++) {
        if (r == 4u) {
            MSL_ROLLED for (uint k = 0; k < 13u; k++) {
                // The S-box of element 0 on its lane, beside the sum of the others.
                Fp tail = Fp{select(s.v, 0u, first)};
                Fp boxed = Fp{p2_sbox(s.v, P2_RC_INTERNAL[k])};
                tail = tail + transcript_xor(tail, 8u);
                tail = tail + transcript_xor(tail, 4u);
                tail = tail + transcript_xor(tail, 2u);
                tail = tail + transcript_xor(tail, 1u);
                s = Fp{select(s.v, boxed.v, first)};
                s = tail + Fp{simd_shuffle(boxed.v, ushort(0))} + diagonal * s;
            }
        }
        uint4 c = P2_RC_EXTERNAL[r * 4u + (lane >> 2)];
        uint low = select(c.x, c.y, (lane & 1u) != 0u), high = select(c.z, c.w, (lane & 1u) != 0u);
        s = Fp{p2_sbox(s.v, select(low, high, (lane & 2u) != 0u))};
        s = transcript_external(s, lane);
    }
    return s;
}

inline TranscriptSponge transcript_permute(TranscriptSponge t, threadgroup Fp* cells) {
    if (t.spread) {
        t.cell = transcript_permute_lanes(t.cell, t.lane);
    } else {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t.tid == 0u) {
            Fp s[TRANSCRIPT_WIDTH];
            for (uint i = 0; i < TRANSCRIPT_WIDTH; i++) s[i] = cells[i];
            poseidon2_permute<uint>(s);
            for (uint i = 0; i < TRANSCRIPT_WIDTH; i++) cells[i] = s[i];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    t.absorb_idx = 0u;
    t.sample_idx = TRANSCRIPT_RATE;
    return t;
}

/// Takes up the sponge; `cells` are sixteen elements of threadgroup memory, `width` the threads of a SIMD-group.
inline TranscriptSponge transcript_load(device const TranscriptState* state, threadgroup Fp* cells, uint tid, uint width) {
    TranscriptSponge t;
    t.lane = tid % TRANSCRIPT_WIDTH;
    t.tid = tid;
    t.absorb_idx = state[0].absorb_idx % TRANSCRIPT_RATE;
    t.sample_idx = min(state[0].sample_idx, TRANSCRIPT_RATE);
    t.spread = width >= TRANSCRIPT_WIDTH;
    t.cell = state[0].cells[t.lane];
    if (!t.spread && tid == 0u) {
        for (uint i = 0; i < TRANSCRIPT_WIDTH; i++) cells[i] = state[0].cells[i];
    }
    return t;
}

/// Leaves the sponge to the next kernel.
inline void transcript_store(TranscriptSponge t, device TranscriptState* state, threadgroup const Fp* cells) {
    if (t.spread && t.tid < TRANSCRIPT_WIDTH) state[0].cells[t.tid] = t.cell;
    if (t.tid == 0u) {
        if (!t.spread) {
            for (uint i = 0; i < TRANSCRIPT_WIDTH; i++) state[0].cells[i] = cells[i];
        }
        state[0].absorb_idx = t.absorb_idx;
        state[0].sample_idx = t.sample_idx;
        state[0].pad[0] = 0u;
        state[0].pad[1] = 0u;
    }
}

/// Observes the first `observed` words and samples the `sampled` words behind them. All threads have passed a barrier since the
/// words were written, and pass one before they return.
inline TranscriptSponge transcript_exchange(TranscriptSponge t, threadgroup Fp* cells, threadgroup Fp* words, uint observed,
                                            uint sampled) {
    uint total = observed + sampled;
    // One loop: one permutation in the code.
    MSL_ROLLED for (uint done = 0; done < total;) {
        bool absorbing = done < observed;
        if (absorbing) {
            uint n = min(TRANSCRIPT_RATE - t.absorb_idx, observed - done);
            uint k = t.lane - t.absorb_idx;
            if (t.spread && k < n) t.cell = words[done + k];
            if (!t.spread && t.tid == 0u) {
                for (uint i = 0; i < n; i++) cells[t.absorb_idx + i] = words[done + i];
            }
            t.absorb_idx += n;
            done += n;
        }
        bool permute = absorbing ? t.absorb_idx == TRANSCRIPT_RATE : t.absorb_idx != 0u || t.sample_idx == 0u;
        if (permute) t = transcript_permute(t, cells);
        if (!absorbing) {
            uint n = min(t.sample_idx, total - done);
            uint k = t.sample_idx - 1u - t.lane;
            if (t.spread && t.tid < TRANSCRIPT_WIDTH && k < n) words[done + k] = t.cell;
            if (!t.spread && t.tid == 0u) {
                for (uint i = 0; i < n; i++) words[done + i] = cells[t.sample_idx - 1u - i];
            }
            t.sample_idx -= n;
            done += n;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return t;
}

/// Extension element `i` of words in threadgroup memory.
inline FpExt transcript_ext(threadgroup const Fp* words, uint i) {
    return fpext_make(words[4u * i], words[4u * i + 1u], words[4u * i + 2u], words[4u * i + 3u]);
}
inline void transcript_put_ext(threadgroup Fp* words, uint i, FpExt x) {
    for (uint k = 0; k < 4u; k++) words[4u * i + k] = x.c[k];
}
