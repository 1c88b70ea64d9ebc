// The sponge of the GKR kernels by itself, for its check in the self test.
#include "sponge.h"

/// Rust twin: src/params/transcript.rs.
struct TranscriptStepParams {
    uint observed;
    uint sampled;
};

/// Observes words[0, observed) and writes what is sampled then to words[observed, observed + sampled). One threadgroup.
/// Cost: ceil_div(p.observed, 8) + ceil_div(p.sampled, 8) permutations, 4 * (p.observed + p.sampled) + 160 bytes per launch.
/// Lengths: state 1, words p.observed + p.sampled.
/// Requires: groups == 1, threads_per_group % 32 == 0, threads_per_group <= 1024, p.observed <= 1048576, p.sampled <= 1048576.
[[max_total_threads_per_threadgroup(256)]]
kernel void transcript_step(
    device TranscriptState* state [[buffer(0)]],
    device Fp* words [[buffer(1)]],
    constant TranscriptStepParams& p [[buffer(2)]],
    uint tid [[thread_index_in_threadgroup]],
    uint width [[threads_per_simdgroup]])
{
    threadgroup Fp cells[TRANSCRIPT_WIDTH];
    threadgroup Fp io[TRANSCRIPT_WORDS];
    TranscriptSponge t = transcript_load(state, cells, tid, width);
    uint total = p.observed + p.sampled;
    for (uint first = 0; first < total;) {
        bool absorbing = first < p.observed;
        uint n = min((absorbing ? p.observed : total) - first, TRANSCRIPT_WORDS);
        if (t.active) {
            Fp word = fp_zero<uint>();
            for (uint i = t.spread ? t.lane : 0u; absorbing && i < n; i += t.spread ? TRANSCRIPT_WORDS : 1u) {
                word = words[first + i];
                if (!t.spread) io[i] = word;
            }
            word = transcript_exchange(t, cells, io, word, absorbing ? n : 0u, absorbing ? 0u : n);
            if (!absorbing) transcript_write(t, io, word, words + first, n, tid);
        }
        first += n;
    }
    transcript_store(t, state, cells, tid);
}
