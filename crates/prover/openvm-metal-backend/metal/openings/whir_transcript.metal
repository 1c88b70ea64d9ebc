// WHIR's messages on the device's transcript. Kernels that go through the sponge are one threadgroup, whose first SIMD-group does.
#include "../field/lane_ops.h"
#include "../transcript/sponge.h"
#include "params.h"
#include "totals.h"

/// The witness in a slot as an element, or zero if no work is asked for.
inline Fp whir_witness(device const uint* best, uint slot, uint work) {
    Fp witness = fp_zero<uint>();
    if (work != 0u) witness = fp_from_u32<uint>(best[slot]);
    return witness;
}

/// Adds up sums of threadgroups, of which `partials` has p.sums for each of p.groups, observes the p.sums totals and samples
/// p.samples challenges. The log has both, in this order.
/// Cost: p.sums / 2 + p.samples permutations, 16 * p.groups * p.sums + 400 bytes per launch.
/// Lengths: partials p.groups * p.sums, state 1, log p.at + p.sums + p.samples.
/// Requires: groups == 1, threads_per_group % 32 == 0, threads_per_group <= 256, p.groups >= 1, p.sums >= 1, p.sums <= 2, p.samples <= 1.
[[max_total_threads_per_threadgroup(256)]]
kernel void whir_exchange(
    device const FpExt* partials [[buffer(0)]],
    device TranscriptState* state [[buffer(1)]],
    device FpExt* log [[buffer(2)]],
    constant WhirExchangeParams& p [[buffer(3)]],
    uint tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]]) {
    threadgroup Fp cells[TRANSCRIPT_WIDTH];
    threadgroup FpExt sums[OPENINGS_TOTALS * OPENINGS_SIMD_GROUPS];
    threadgroup Fp words[TRANSCRIPT_WORDS];
    TranscriptSponge t = transcript_load(state, cells, tid, width);
    openings_totals(partials, p.groups, p.sums, sums, words, log + p.at, tid, tpg, width);
    if (t.active) {
        Fp word = words[t.lane % (4u * p.sums)];
        word = transcript_exchange(t, cells, words, word, 4u * p.sums, 4u * p.samples);
        transcript_write(t, words + 4u * p.sums, word, (device Fp*)(log + p.at + p.sums), 4u * p.samples, tid);
    }
    transcript_store(t, state, cells, tid);
}

/// Samples a challenge. If p.work is 1, observes the witness best[p.slot] before and samples the word that proves its work. The log has
/// the witness, or zero, and the challenge.
/// Cost: 2 permutations, 400 bytes per launch.
/// Lengths: best p.slot + 1, state 1, log p.at + 2.
/// Requires: groups == 1, threads_per_group % 32 == 0, threads_per_group <= 256, p.work <= 1.
[[max_total_threads_per_threadgroup(256)]]
kernel void whir_challenge(
    device const uint* best [[buffer(0)]],
    device TranscriptState* state [[buffer(1)]],
    device FpExt* log [[buffer(2)]],
    constant WhirChallengeParams& p [[buffer(3)]],
    uint tid [[thread_index_in_threadgroup]],
    uint width [[threads_per_simdgroup]]) {
    threadgroup Fp cells[TRANSCRIPT_WIDTH];
    threadgroup Fp words[TRANSCRIPT_WORDS];
    TranscriptSponge t = transcript_load(state, cells, tid, width);
    Fp word = whir_witness(best, p.slot, p.work);
    if (tid == 0u) {
        words[0] = word;
        log[p.at] = fpext_from_base(word);
    }
    if (t.active) {
        word = transcript_exchange(t, cells, words, word, p.work, p.work + 4u);
        if (t.spread) word = spread_from(word, (t.lane + p.work) % TRANSCRIPT_WORDS);
        transcript_write(t, words + 2u * p.work, word, (device Fp*)(log + p.at + 1u), 4u, tid);
    }
    transcript_store(t, state, cells, tid);
}

/// Samples p.count words to `drawn`, from the second on. The first is the witness best[p.slot], observed before, if p.work is 1, else zero.
/// Cost: ceil_div(p.count, 8) + 1 permutations, 4 * p.count + 400 bytes per launch.
/// Lengths: best p.slot + 1, state 1, drawn p.count + 1.
/// Requires: groups == 1, threads_per_group % 32 == 0, threads_per_group <= 256, p.work <= 1, p.count <= 1048576.
[[max_total_threads_per_threadgroup(256)]]
kernel void whir_draw(
    device const uint* best [[buffer(0)]],
    device TranscriptState* state [[buffer(1)]],
    device Fp* drawn [[buffer(2)]],
    constant WhirDrawParams& p [[buffer(3)]],
    uint tid [[thread_index_in_threadgroup]],
    uint width [[threads_per_simdgroup]]) {
    threadgroup Fp cells[TRANSCRIPT_WIDTH];
    threadgroup Fp words[TRANSCRIPT_WORDS];
    TranscriptSponge t = transcript_load(state, cells, tid, width);
    Fp witness = whir_witness(best, p.slot, p.work);
    if (tid == 0u) {
        words[0] = witness;
        drawn[0] = witness;
    }
    if (t.active) transcript_exchange(t, cells, words, witness, p.work, 0u);
    for (uint first = 0; first < p.count; first += TRANSCRIPT_WORDS) {
        uint n = min(p.count - first, TRANSCRIPT_WORDS);
        if (t.active) {
            Fp word = transcript_exchange(t, cells, words, witness, 0u, n);
            transcript_write(t, words, word, drawn + 1u + first, n, tid);
        }
    }
    transcript_store(t, state, cells, tid);
}

/// partial[group] = this threadgroup's share of sum over s of c[s] z^s, z = log[p.z]: terms of the group's p.block, which lie a
/// threadgroup apart, by Horner's rule.
/// Cost: groups * (p.block + 64 * threads_per_group) ext products, 16 * groups * p.block bytes per launch.
/// Lengths: c groups * p.block, log p.z + 1, partial groups.
/// Requires: threads_per_group <= 256, p.block % threads_per_group == 0.
[[max_total_threads_per_threadgroup(256)]]
kernel void whir_evaluate(
    device const FpExt* c [[buffer(0)]],
    device const FpExt* log [[buffer(1)]],
    device FpExt* partial [[buffer(2)]],
    constant WhirEvaluateParams& p [[buffer(3)]],
    uint group [[threadgroup_position_in_grid]],
    uint tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    FpExt z = log[p.z];
    uint first = group * p.block;
    FpExt step = fpext_pow(z, tpg), value = fpext_zero<uint>();
    for (uint left = p.block; left > 0u; left -= tpg) value = value * step + c[first + (left - tpg) + tid];
    FpExt sum = fpext_group_sum(value * fpext_pow(z, first + tid), scratch, tid, tpg);
    if (tid == 0u) partial[group] = sum;
}

/// One element of both tables per thread: the fold by the last challenge, r = log[p.r].
/// Cost: 2 ext products, 96 bytes per thread.
/// Lengths: c, w 2 * p.len, log p.r + 1, c_out, w_out p.len.
kernel void whir_fold_tables(
    device const FpExt* c [[buffer(0)]],
    device const FpExt* w [[buffer(1)]],
    device const FpExt* log [[buffer(2)]],
    device FpExt* c_out [[buffer(3)]],
    device FpExt* w_out [[buffer(4)]],
    constant WhirFoldParams& p [[buffer(5)]],
    uint gid [[thread_position_in_grid]]) {
    if (gid >= p.len) return;
    FpExt r = log[p.r];
    FpExt w0 = w[2u * gid], w1 = w[2u * gid + 1u];
    c_out[gid] = c[2u * gid] + c[2u * gid + 1u] * r;
    w_out[gid] = (w0 - w1) + (w1 + w1 - w0) * r;
}
