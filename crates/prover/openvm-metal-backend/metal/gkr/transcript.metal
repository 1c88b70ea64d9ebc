// GKR without the host: the ends of rounds and layers on the device's transcript. Each kernel is one threadgroup, whose first
// SIMD-group goes through the sponge.
#include "tail.h"

// Eight words for each SIMD-group of a threadgroup: up to 256 threads, SIMD-groups of 8 or more.
constant constexpr uint GKR_GROUP_SUMS = 256u;

/// Begins the first layer on the device: samples lambda, joins the claims of the layer above to one by mu and lambda, and
/// inverts the coordinates of its point.
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
    if (t.active) {
        Fp lambda = transcript_exchange(t, cells, words, fp_zero<uint>(), 0u, 4u);
        transcript_write(t, words, lambda, (device Fp*)(log + params.previous + 4u * params.rounds + 2u), 4u, tid);
    }
    transcript_store(t, state, cells, tid);
    threadgroup_barrier(mem_flags::mem_device);
    gkr_begin_layer(log, work, params.previous, params.rounds, tid, tpg);
}

/// Ends a round: adds up the sums of its threadgroups, observes s(1), s(2), s(3) and samples r, which go to the log, and binds
/// the claim.
/// Cost: 3 permutations, 9 ext products, 32 * params.partials + 400 bytes per launch.
/// Lengths: partials 2 * params.partials, state 1, log max(params.xi + 1, params.at + 4), work max(2, params.inverse + 1).
/// Requires: groups == 1, threads_per_group % 32 == 0, threads_per_group <= 256, params.partials >= 1.
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
    threadgroup Fp sums[GKR_GROUP_SUMS];
    threadgroup GkrPolyWord poly[GKR_POLY];
    // Loads do not wait for each other: those of up to four threadgroups' sums, then all that is small.
    GkrSumL some[4];
    MSL_UNROLL for (uint k = 0; k < 4u; k++) {
        uint i = min(tid + k * tpg, params.partials - 1u);
        some[k].at = partials[2u * i];
        some[k].lead = partials[2u * i + 1u];
    }
    FpExt xi = log[params.xi], inverse = work[params.inverse], claim = work[GKR_CLAIM], scale = work[GKR_SCALE];
    TranscriptSponge t = transcript_load(state, cells, tid, width);
    GkrPoint p = gkr_point(xi, inverse);
    gkr_prepare(p, claim, scale, poly, tid, tpg, width);
    GkrSumL sum = gkr_no_sum();
    MSL_UNROLL for (uint k = 0; k < 4u; k++) {
        bool in = tid + k * tpg < params.partials;
        for (uint c = 0; c < 4u; c++) {
            sum.at.c[c] = sum.at.c[c] + Fp{select(0u, some[k].at.c[c].v, in)};
            sum.lead.c[c] = sum.lead.c[c] + Fp{select(0u, some[k].lead.c[c].v, in)};
        }
    }
    for (uint i = tid + 4u * tpg; i < params.partials; i += tpg) {
        sum.at = sum.at + partials[2u * i];
        sum.lead = sum.lead + partials[2u * i + 1u];
    }
    gkr_put_sums(sum, sums, tid, width);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t.active) {
        sum = gkr_get_sums(t, sums, max(tpg / width, 1u));
        GkrRoundEnd e = gkr_end_round(t, cells, words, poly, sum);
        gkr_log_round(t, words, e, log + params.at, tid);
        claim = gkr_next_claim(p, claim, sum, e.r);
        scale = gkr_next_scale(p, scale, e.r);
    }
    transcript_store(t, state, cells, tid);
    if (tid == 0u) {
        work[GKR_CLAIM] = claim;
        work[GKR_SCALE] = scale;
    }
}

/// Ends a layer: folds the columns a, b, c, d by the last challenge, runs the rounds that are left on them, observes the claims
/// of the layer and samples mu; then begins the layer below, if there is one, as `gkr_start_layer` does. Tables that come in are
/// as those of `gkr_fold_round`; of those in between (tail.h) the large ones go to `scratch`.
/// Cost: 3 * params.log_rows + 3 permutations, (8 << params.log_rows) + 9 * params.log_rows + 8 * params.rounds ext products,
/// (384 << params.log_rows) + 400 bytes per launch.
/// Lengths: in 16 << params.log_rows, scratch params.log_rows > 9 ? 12 << params.log_rows : 0,
/// eq params.eq + (1 << params.log_rows - 1), state 1, log params.previous + 8 * params.rounds + 8 + params.next,
/// work 3 + params.rounds.
/// Requires: groups == 1, threads_per_group % 32 == 0, threads_per_group <= 256, params.log_rows >= 2, params.log_rows <= 12,
/// params.log_rows <= params.rounds, params.rounds <= 32, params.next <= 1.
[[max_total_threads_per_threadgroup(256)]]
kernel void gkr_finish_layer(
    device const Fp* in [[buffer(0)]],
    device Fp* scratch [[buffer(1)]],
    device const FpExt* eq [[buffer(2)]],
    device TranscriptState* state [[buffer(3)]],
    device FpExt* log [[buffer(4)]],
    device FpExt* work [[buffer(5)]],
    constant GkrTailParams& params [[buffer(6)]],
    uint tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]])
{
    threadgroup Fp cells[TRANSCRIPT_WIDTH];
    threadgroup Fp words[GKR_WORDS];
    threadgroup Fp sums[GKR_GROUP_SUMS];
    threadgroup Fp tables[GKR_LOCAL_WORDS];
    threadgroup GkrPolyWord poly[GKR_POLY];
    threadgroup FpExt known[3];  // of the round before: its sums and its challenge
    uint section = params.previous + 4u * params.rounds + 2u;
    uint first = params.rounds - params.log_rows + 1u;  // round
    FpExt r = log[section + 4u * first];
    FpExt xi = log[gkr_coordinate(params.previous, params.rounds, first)], inverse = work[GKR_INVERSES + first];
    FpExt claim = work[GKR_CLAIM], scale = work[GKR_SCALE], lambda = log[section];
    TranscriptSponge t = transcript_load(state, cells, tid, width);
    GkrPoint p = gkr_point(xi, inverse);
    GkrSumL sum = gkr_no_sum();
    for (uint round = first; round < params.rounds; round++) {
        uint level = params.rounds - 1u - round, pairs = 1u << level;
        // Where tables lie in `scratch`: one behind the other in turn.
        uint below = 8u << params.log_rows, odd = (round - first) & 1u;
        device const Fp* from = scratch + (odd != 0u ? 0u : below);
        device Fp* to = scratch + (odd != 0u ? below : 0u);
        bool at_one = gkr_is_zero(xi);
        // The first two SIMD-groups; where there are few pairs, others fold them meanwhile.
        if (tid < 2u * width) {
            if (round > first) {
                if (tid >= width || tpg <= width) claim = gkr_next_claim(p, claim, sum, r);
                scale = gkr_next_scale(p, scale, r);
            }
            p = gkr_point(xi, inverse);
            gkr_prepare(p, claim, scale, poly, tid, tpg, width);
        }
        sum = gkr_no_sum();
        for (uint j = tpg - 1u - tid; j < 4u * pairs; j += tpg) {
            uint y = j & (pairs - 1u), part = j >> level, x = 2u * (part & 1u);
            bool lead = part >= 2u;
            FpExt weight = eq[params.eq + pairs + y];
            GkrEntries a, b;
            if (round == first) {
                a = gkr_entries_of_rows(in + 16u * x * pairs, ulong(pairs), ulong(y));
                b = gkr_entries_of_rows(in + 16u * (x + 1u) * pairs, ulong(pairs), ulong(y));
            } else if (level < GKR_LOCAL_LOG) {
                threadgroup const Fp* table = tables + gkr_local(level + 1u);
                a = gkr_entries(table + 8u * x * pairs, pairs, y);
                b = gkr_entries(table + 8u * (x + 1u) * pairs, pairs, y);
            } else {
                a = gkr_entries(from + 8u * x * pairs, pairs, y);
                b = gkr_entries(from + 8u * (x + 1u) * pairs, pairs, y);
            }
            FpExt f = gkr_fold_entries(a, lead, r), g = gkr_fold_entries(b, lead, r);
            uint out = 4u * x * pairs + (lead ? 16u * pairs : 0u);
            if (level <= GKR_LOCAL_LOG) {
                gkr_put_entry(tables + gkr_local(level) + out, pairs, y, f);
                gkr_put_entry(tables + gkr_local(level) + out + 4u * pairs, pairs, y, g);
            } else {
                gkr_put_entry(to + out, pairs, y, f);
                gkr_put_entry(to + out + 4u * pairs, pairs, y, g);
            }
            if (at_one && !lead) {
                f = a.v1 + a.d1 * r;
                g = b.v1 + b.d1 * r;
            }
            FpExt value = weight * (f * g);
            if (lead) sum.lead = sum.lead + value;
            else sum.at = sum.at + value;
        }
        gkr_put_sums(sum, sums, tid, width);
        // Those of the next round, or again of the last.
        uint next = min(round + 1u, params.rounds - 1u);
        xi = log[gkr_coordinate(params.previous, params.rounds, next)];
        inverse = work[GKR_INVERSES + next];
        threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
        if (t.active) {
            sum = gkr_get_sums(t, sums, max(tpg / width, 1u));
            GkrRoundEnd e = gkr_end_round(t, cells, words, poly, sum);
            if (tid == 0u) {
                known[0] = sum.at;
                known[1] = sum.lead;
                known[2] = e.r;
            }
            gkr_log_round(t, words, e, log + section + 1u + 4u * round, tid);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum.at = known[0];
        sum.lead = known[1];
        r = known[2];
    }
    // One entry is left: a, b, c, d of the row that its two fold to.
    if (t.active) {
        threadgroup const Fp* last = tables + gkr_local(0u);
        Fp word = gkr_claim_word(last, r, lambda, t.lane);
        if (!t.spread) {
            for (uint i = 0; i < 16u; i++) words[i] = gkr_claim_word(last, r, lambda, i);
        }
        uint sampled = 4u + 4u * params.next;
        Fp sample = transcript_exchange(t, cells, words, word, 16u, sampled);
        device Fp* out = (device Fp*)(log + section + 1u + 4u * params.rounds);
        transcript_write(t, words, word, out, 16u, tid);
        transcript_write(t, words + 16u, sample, out + 16u, sampled, tid);
    }
    transcript_store(t, state, cells, tid);
    threadgroup_barrier(mem_flags::mem_device);
    if (params.next != 0u) gkr_begin_layer(log, work, section, params.rounds + 1u, tid, tpg);
}
