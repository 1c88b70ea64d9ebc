// GKR without the host: the ends of rounds and layers on the device's transcript. Each kernel is one threadgroup.
#include "transcript.h"

// Two sums for each SIMD-group of a threadgroup: up to 256 threads, SIMD-groups of 8 or more.
constant constexpr uint GKR_GROUP_SUMS = 64u;

/// Begins a layer: samples lambda, joins the claims of the layer above to one by mu and lambda, and inverts the coordinates
/// of its point.
/// Cost: 1 permutation, params.rounds * 8 + 4 ext products, 32 * params.rounds + 320 bytes per launch.
/// Lengths: state 1, work 2 + params.rounds, log params.previous + 4 * params.rounds + 3.
/// Requires: groups == 1, threads_per_group % 32 == 0, threads_per_group <= 256, params.rounds >= 1, params.rounds <= 32.
[[max_total_threads_per_threadgroup(256)]]
kernel void gkr_start_layer(
    device TranscriptState* state [[buffer(0)]],
    device FpExt* log [[buffer(1)]],
    device FpExt* work [[buffer(2)]],
    constant GkrStartParams& params [[buffer(3)]],
    uint tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]])
{
    threadgroup Fp cells[TRANSCRIPT_WIDTH];
    threadgroup Fp words[GKR_WORDS];
    TranscriptSponge t = transcript_load(state, cells, tid, width);
    t = transcript_exchange(t, cells, words, 0u, 4u);
    transcript_store(t, state, cells);
    for (uint i = tid; i < params.rounds; i += tpg) {
        work[GKR_INVERSES + i] = fpext_inv(log[gkr_coordinate(params.previous, params.rounds, i)]);
    }
    if (tid == 0u) {
        uint claims = params.previous + 4u * params.rounds - 3u;
        FpExt p0 = log[claims], q0 = log[claims + 1u], p1 = log[claims + 2u], q1 = log[claims + 3u], mu = log[claims + 4u];
        FpExt lambda = transcript_ext(words, 0u);
        work[GKR_CLAIM] = (p0 + mu * (p1 - p0)) + lambda * (q0 + mu * (q1 - q0));
        work[GKR_SCALE] = fpext_one<uint>();
        log[claims + 5u] = lambda;
    }
}

/// Ends a round: adds up the sums of its threadgroups, observes s(1), s(2), s(3) and samples r, which go to the log, and binds
/// the claim.
/// Cost: 3 permutations, 17 ext products, 32 * params.partials + 400 bytes per launch.
/// Lengths: partials 2 * params.partials, state 1, log max(params.xi + 1, params.at + 4), work max(2, params.inverse + 1).
/// Requires: groups == 1, threads_per_group % 32 == 0, threads_per_group <= 256.
[[max_total_threads_per_threadgroup(256)]]
kernel void gkr_finish_round(
    device const FpExt* partials [[buffer(0)]],
    device TranscriptState* state [[buffer(1)]],
    device FpExt* log [[buffer(2)]],
    device FpExt* work [[buffer(3)]],
    constant GkrFinishParams& params [[buffer(4)]],
    uint tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]])
{
    threadgroup Fp cells[TRANSCRIPT_WIDTH];
    threadgroup Fp words[GKR_WORDS];
    threadgroup FpExt sums[GKR_GROUP_SUMS];
    TranscriptSponge t = transcript_load(state, cells, tid, width);
    GkrClaim claim;
    claim.claim = work[GKR_CLAIM];
    claim.scale = work[GKR_SCALE];
    FpExt xi = log[params.xi], inverse = work[params.inverse];
    GkrSumL sum = gkr_no_sum();
    for (uint i = tid; i < params.partials; i += tpg) {
        sum.at = sum.at + partials[2u * i];
        sum.lead = sum.lead + partials[2u * i + 1u];
    }
    sum = gkr_group_sums(sum, sums, tid, tpg, width);
    claim = gkr_finish(t, cells, words, claim, xi, inverse, sum);
    transcript_store(t, state, cells);
    if (tid == 0u) {
        work[GKR_CLAIM] = claim.claim;
        work[GKR_SCALE] = claim.scale;
        for (uint i = 0; i < 4u; i++) log[params.at + i] = transcript_ext(words, i);
    }
}

/// Ends a layer: folds the columns a, b, c, d by the last challenge, runs the rounds that are left on them, observes the claims
/// of the layer and samples mu. Tables are as those of `gkr_fold_round`; those in between go to `scratch`.
/// Cost: 3 * params.log_rows + 2 permutations, (14 << params.log_rows) + 17 * params.log_rows ext products,
/// (384 << params.log_rows) + 400 bytes per launch.
/// Lengths: in 16 << params.log_rows, scratch 12 << params.log_rows, eq params.eq + (1 << params.log_rows - 1), state 1,
/// log params.previous + 8 * params.rounds + 8, work 2 + params.rounds.
/// Requires: groups == 1, threads_per_group % 32 == 0, threads_per_group <= 256, params.log_rows >= 1,
/// params.log_rows <= params.rounds, params.rounds <= 32.
[[max_total_threads_per_threadgroup(256)]]
kernel void gkr_finish_layer(
    device const Fp* in [[buffer(0)]],
    device Fp* scratch [[buffer(1)]],
    device const FpExt* eq [[buffer(2)]],
    device TranscriptState* state [[buffer(3)]],
    device FpExt* log [[buffer(4)]],
    device const FpExt* work [[buffer(5)]],
    constant GkrTailParams& params [[buffer(6)]],
    uint tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]])
{
    threadgroup Fp cells[TRANSCRIPT_WIDTH];
    threadgroup Fp words[GKR_WORDS];
    threadgroup FpExt sums[GKR_GROUP_SUMS];
    TranscriptSponge t = transcript_load(state, cells, tid, width);
    GkrClaim claim;
    claim.claim = work[GKR_CLAIM];
    claim.scale = work[GKR_SCALE];
    uint section = params.previous + 4u * params.rounds + 2u;
    uint first = params.rounds - params.log_rows + 1u;  // round
    FpExt lambda = log[section];
    FpExt r = log[section + 4u * (first - 1u) + 4u];
    device const Fp* from = in;
    ulong half_size = 8ul << params.log_rows;
    for (uint round = first; round < params.rounds; round++) {
        // Tables of 4 pairs rows become tables of 2 pairs rows, in turn in the two parts of the scratch memory.
        ulong pairs = 1ul << (params.rounds - 1u - round), len = 2ul * pairs;
        device Fp* to = scratch + (((round - first) & 1u) != 0u ? half_size : 0ul);
        FpExt xi = log[gkr_coordinate(params.previous, params.rounds, round)];
        bool at_one = gkr_is_zero(xi);
        GkrSumL sum = gkr_no_sum();
        for (ulong y = tid; y < pairs; y += tpg) {
            GkrSumL u = gkr_fold_product(from, to, len, r, at_one, y);
            GkrSumL v = gkr_fold_product(from + 16ul * len, to + 8ul * len, len, r, at_one, y);
            sum = gkr_accumulate(sum, eq[params.eq + pairs + y], u, v);
        }
        sum = gkr_group_sums(sum, sums, tid, tpg, width);
        claim = gkr_finish(t, cells, words, claim, xi, work[GKR_INVERSES + round], sum);
        r = transcript_ext(words, 3u);
        if (tid == 0u) {
            for (uint i = 0; i < 4u; i++) log[section + 1u + 4u * round + i] = transcript_ext(words, i);
        }
        from = (device const Fp*)to;
        threadgroup_barrier(mem_flags::mem_device);
    }
    // Two rows are left: a, b, c, d of the one that they fold to.
    if (tid == 0u) {
        FpExt row[4];
        for (uint k = 0; k < 4u; k++) {
            FpExt x0, x1;
            for (uint c = 0; c < 4u; c++) {
                x0.c[c] = from[8u * k + 2u * c];
                x1.c[c] = from[8u * k + 2u * c + 1u];
            }
            row[k] = x0 + r * (x1 - x0);
        }
        transcript_put_ext(words, 0u, row[0] - lambda * row[3]);
        transcript_put_ext(words, 1u, row[3]);
        transcript_put_ext(words, 2u, row[2]);
        transcript_put_ext(words, 3u, row[1]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    t = transcript_exchange(t, cells, words, 16u, 4u);
    transcript_store(t, state, cells);
    if (tid == 0u) {
        for (uint i = 0; i < 5u; i++) log[section + 1u + 4u * params.rounds + i] = transcript_ext(words, i);
    }
}
