#pragma once
// The rounds of a layer on the device's transcript: what `src/gkr/round.rs` does on the host.
//
// The log has a section for each layer: lambda; s(1), s(2), s(3), r for each round; p0, q0, p1, q1; mu. So the point of the next
// layer is in it: mu, then r of each round. The working memory is claim, scale, then the inverses of the point's coordinates.
#include "../transcript/sponge.h"
#include "params.h"
#include "round.h"

constant constexpr uint GKR_CLAIM = 0u;
constant constexpr uint GKR_SCALE = 1u;
constant constexpr uint GKR_INVERSES = 2u;
// Words that a threadgroup exchanges with the transcript at a time: four claims and a challenge.
constant constexpr uint GKR_WORDS = 20u;

/// Where coordinate `i` of the point of a layer of `rounds` rounds lies in the log; `previous` as in `GkrStartParams`.
inline uint gkr_coordinate(uint previous, uint rounds, uint i) { return i == 0u ? previous + 4u * rounds + 1u : previous + 4u * i; }

/// The sums of all threads, in every thread; `sums` has room for two elements of each SIMD-group.
inline GkrSumL gkr_group_sums(GkrSumL sum, threadgroup FpExt* sums, uint tid, uint tpg, uint width) {
    sum.at = fpext_simd_sum(sum.at, width);
    sum.lead = fpext_simd_sum(sum.lead, width);
    if (tid % width == 0u) {
        sums[2u * (tid / width)] = sum.at;
        sums[2u * (tid / width) + 1u] = sum.lead;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum.at = sums[0];
    sum.lead = sums[1];
    for (uint k = 1; k * width < tpg; k++) {
        sum.at = sum.at + sums[2u * k];
        sum.lead = sum.lead + sums[2u * k + 1u];
    }
    return sum;
}

/// The claim of a layer between two rounds, divided by `scale`, the eq factor of the challenges so far.
struct GkrClaim {
    FpExt claim;
    FpExt scale;
};

/// Observes the polynomial of a round with coordinate `xi` and samples its challenge into words[12, 16): the claim after it.
/// 17 ext products.
inline GkrClaim gkr_finish(thread TranscriptSponge& t, threadgroup Fp* cells, threadgroup Fp* words, GkrClaim c, FpExt xi,
                           FpExt inverse, GkrSumL sums) {
    FpExt at_zero = sums.at, at_one = ((c.claim - sums.at) + xi * sums.at) * inverse;
    if (gkr_is_zero(xi)) {
        at_zero = c.claim;
        at_one = sums.at;
    }
    FpExt linear = (at_one - at_zero) - sums.lead;
    // eq(xi, x) = 1 - xi + x (2 xi - 1)
    FpExt slope = (xi + xi) - fp_one<uint>(), eq_zero = fp_one<uint>() - xi;
    if (t.tid == 0u) {
        FpExt eq = eq_zero, inner = at_zero, step = linear + sums.lead, twice = sums.lead + sums.lead;
        for (uint x = 0; x < 3u; x++) {
            eq = eq + slope;
            inner = inner + step;
            step = step + twice;
            transcript_put_ext(words, x, (c.scale * eq) * inner);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    t = transcript_exchange(t, cells, words, 12u, 4u);
    FpExt r = transcript_ext(words, 3u);
    c.claim = at_zero + r * (linear + r * sums.lead);
    c.scale = c.scale * (eq_zero + r * slope);
    return c;
}
