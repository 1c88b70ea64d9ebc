// MLE rounds without the host: their ends on the device's transcript.
#include "../field/lane_ops.h"
#include "../transcript/sponge.h"
#include "finish.h"

/// Adds up the parts of long sums: joined[group] = sum over firsts[group] <= i < firsts[group + 1] of sums[i].
/// Given: elements.
/// Cost: 0 products, 16 * elements bytes per launch.
/// Lengths: firsts groups + 1, joined groups.
/// Requires: threads_per_group <= 256.
/// Safety: `firsts` rises up to the length of `sums`. `elements` is that length.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_join_sums(
    device const uint* firsts [[buffer(0)]],
    device const FpExt* sums [[buffer(1)]],
    device FpExt* joined [[buffer(2)]],
    uint tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    FpExt total = fpext_zero<uint>();
    for (uint i = firsts[group] + tid; i < firsts[group + 1u]; i += tpg) total = total + sums[i];
    FpExt sum = fpext_group_sum(total, scratch, tid, tpg);
    if (tid == 0u) joined[group] = sum;
}

/// Ends an MLE round: joins the sums of all traces to the values of the round polynomial at 1, .., degree + 1, observes them and
/// samples r, which go to the log, and binds the claims. `firsts` says where the values of each claim begin. One threadgroup,
/// whose first SIMD-group goes through the sponge.
/// Cost: params.degree / 2 + 2 permutations, params.claims * (3 * params.degree + 8) + 8 ext products,
/// params.claims * (32 * params.degree + 96) + 500 bytes per launch.
/// Lengths: about, firsts params.claims, work 3 + params.claims, state 1, log params.at + params.degree + 2.
/// Requires: groups == 1, threads_per_group % 32 == 0, threads_per_group <= 256, params.degree <= 7.
/// Safety: `firsts` and the degrees of the claims lie in `values`.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_finish_round(
    device const ConstraintClaim* about [[buffer(0)]],
    device const uint* firsts [[buffer(1)]],
    device const FpExt* values [[buffer(2)]],
    device FpExt* work [[buffer(3)]],
    device TranscriptState* state [[buffer(4)]],
    device FpExt* log [[buffer(5)]],
    constant ConstraintFinishParams& params [[buffer(6)]],
    uint tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]])
{
    threadgroup Fp cells[TRANSCRIPT_WIDTH];
    threadgroup FpExt sums[32u * CONSTRAINT_ROUND_SUMS];  // SIMD-groups of 8 threads or more, or one thread
    threadgroup Fp words[4u * CONSTRAINT_DEGREES + TRANSCRIPT_WORDS];
    threadgroup Fp challenge[4];
    TranscriptSponge t = transcript_load(state, cells, tid, width);
    FpExt eq = work[CONSTRAINT_EQ], eq_sharp = work[CONSTRAINT_EQ_SHARP], tail = work[CONSTRAINT_TAIL];
    FpExt total[CONSTRAINT_ROUND_SUMS];
    MSL_UNROLL for (uint k = 0; k < CONSTRAINT_ROUND_SUMS; k++) total[k] = fpext_zero<uint>();
    for (uint i = tid; i < params.claims; i += tpg) {
        ConstraintClaim c = about[i];
        FpExt scale = eq;
        if (c.logup != 0u) scale = eq_sharp;
        scale = scale * c.factor;
        FpExt claim = work[CONSTRAINT_CLAIMS + i];
        if (c.variables >= params.round) {
            ConstraintDifferences p = constraint_differences(claim, c.degree, values + firsts[i], params.xi, params.inverse);
            MSL_UNROLL for (uint k = 0; k < CONSTRAINT_DEGREES; k++) {
                p = constraint_step(p);
                if (k <= params.degree) total[k] = total[k] + scale * p.d[0];
            }
        } else if (c.variables + 1u == params.round) {
            total[CONSTRAINT_DEGREES] = total[CONSTRAINT_DEGREES] + scale * claim;
        }
    }
    uint groups = max(tpg / width, 1u);
    MSL_UNROLL for (uint k = 0; k < CONSTRAINT_ROUND_SUMS; k++) {
        FpExt sum = fpext_simd_sum(total[k], width);
        if (tid % width == 0u) sums[k * groups + tid / width] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    // eq(xi, X) = eq_zero + X slope
    FpExt slope = (params.xi + params.xi) - fp_one<uint>(), eq_zero = fp_one<uint>() - params.xi;
    for (uint g = 0; g < groups; g++) tail = tail + sums[CONSTRAINT_DEGREES * groups + g];
    for (uint k = tid; k <= params.degree; k += tpg) {
        Fp x = fp_from_u32<uint>(k + 1u);
        FpExt head = sums[k * groups];
        for (uint g = 1; g < groups; g++) head = head + sums[k * groups + g];
        FpExt value = (eq_zero + slope * x) * head + tail * x;
        for (uint j = 0; j < 4u; j++) words[4u * k + j] = value.c[j];
        log[params.at + k] = value;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t.active) {
        uint observed = 4u * (params.degree + 1u);
        Fp word = fp_zero<uint>();
        for (uint first = 0; first < observed; first += TRANSCRIPT_WORDS) {
            uint n = min(observed - first, TRANSCRIPT_WORDS);
            if (t.spread && t.lane < n) word = words[first + t.lane];
            word = transcript_exchange(t, cells, words + first, word, n, 0u);
        }
        word = transcript_exchange(t, cells, words + observed, word, 0u, 4u);
        transcript_write(t, words + observed, word, (device Fp*)(log + params.at + params.degree + 1u), 4u, tid);
        if (t.spread) {
            if (tid < 4u) challenge[tid] = word;
        } else {
            for (uint j = 0; j < 4u; j++) challenge[j] = words[observed + j];
        }
    }
    transcript_store(t, state, cells, tid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    FpExt r = fpext_make(challenge[0], challenge[1], challenge[2], challenge[3]);
    for (uint i = tid; i < params.claims; i += tpg) {
        ConstraintClaim c = about[i];
        if (c.variables >= params.round && c.degree > 0u) {
            FpExt claim = work[CONSTRAINT_CLAIMS + i];
            ConstraintDifferences p = constraint_differences(claim, c.degree, values + firsts[i], params.xi, params.inverse);
            work[CONSTRAINT_CLAIMS + i] = constraint_value(p, c.degree, r, params);
        }
    }
    if (tid == 0u) {
        FpExt factor = eq_zero + slope * r;
        work[CONSTRAINT_EQ] = eq * factor;
        work[CONSTRAINT_EQ_SHARP] = eq_sharp * factor;
        work[CONSTRAINT_TAIL] = tail * r;
    }
}
