// Stacked reduction: the end of a round on the device's transcript.
#include "../transcript/sponge.h"
#include "params.h"
#include "totals.h"

/// Factors of the sums over g_0, g_1, and of the part of the latter's that is shifted by one.
struct StackedFactors {
    FpExt eq, rot, step;
};

/// Those for the lowest variable set to x; r is its coordinate.
inline StackedFactors stacked_factors_at(StackedFactors f, FpExt r, FpExt x) {
    FpExt not_x = fpext_one<uint>() - x, not_r = fpext_one<uint>() - r;
    FpExt eq = not_x * not_r + x * r;
    StackedFactors at;
    at.eq = f.eq * eq;
    at.rot = f.rot * eq + f.step * (x * not_r);
    at.step = f.step * (not_x * r);
    return at;
}

/// Ends a round: adds up the threadgroups' sums at X = 1 and X = 2, which are observed and go to the log, samples u, and leaves it and the
/// factors of the next round in `work`. One threadgroup, whose first SIMD-group goes through the sponge.
/// Cost: 2 permutations, 24 ext products, 32 * p.groups + 450 bytes per launch.
/// Lengths: partials 2 * p.groups, work 40, state 1, log 2 * p.round.
/// Requires: groups == 1, threads_per_group % 32 == 0, threads_per_group <= 256, p.round >= 1, p.round <= 32.
[[max_total_threads_per_threadgroup(256)]]
kernel void stacked_finish_round(
    device const FpExt* partials [[buffer(0)]],
    device FpExt* work [[buffer(1)]],
    device TranscriptState* state [[buffer(2)]],
    device FpExt* log [[buffer(3)]],
    constant StackedFinishParams& p [[buffer(4)]],
    uint tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]]) {
    threadgroup Fp cells[TRANSCRIPT_WIDTH];
    threadgroup FpExt sums[OPENINGS_TOTALS * OPENINGS_SIMD_GROUPS];
    threadgroup Fp words[TRANSCRIPT_WORDS];
    TranscriptSponge t = transcript_load(state, cells, tid, width);
    openings_totals(partials, p.groups, 2u, sums, words, log + 2u * (p.round - 1u), tid, tpg, width);
    if (t.active) {
        Fp word = words[t.lane % 8u];
        word = transcript_exchange(t, cells, words, word, 8u, 4u);
        FpExt u = transcript_sampled(t, words + 8u, word, 0u);
        if (tid == 0u) {
            StackedFactors f;
            f.eq = work[STACKED_EQ];
            f.step = work[STACKED_STEP];
            f.rot = work[STACKED_ROT] - f.step;
            FpExt one = fpext_one<uint>();
            f = stacked_factors_at(f, p.r, u);
            StackedFactors at_one = stacked_factors_at(f, p.next, one), at_two = stacked_factors_at(f, p.next, one + one);
            work[p.round - 1u] = u;
            work[STACKED_EQ] = f.eq;
            work[STACKED_ROT] = f.rot + f.step;
            work[STACKED_STEP] = f.step;
            work[STACKED_ONE] = at_one.eq;
            work[STACKED_ONE + 1u] = at_one.rot;
            work[STACKED_TWO] = at_two.eq;
            work[STACKED_TWO + 1u] = at_two.rot;
            work[STACKED_TWO + 2u] = at_two.step;
        }
    }
    transcript_store(t, state, cells, tid);
}
