// WHIR sumcheck over pairs (c, w): c are the coefficients of f, w the dual weights, see docs/design/whir.md.
#include "../field/lane_ops.h"
#include "params.h"

/// The pair's terms of s(1) and s(2): 2 extension products.
inline void whir_pair_terms(FpExtL c0, FpExtL c1, FpExtL w0, FpExtL w1, thread FpExtL& s1, thread FpExtL& s2) {
    FpExtL sum = c0 + c1;
    s1 = s1 + sum * w1;
    s2 = s2 + (sum + c1) * (w1 + w1 + w1 - w0);
}

/// partial[2 group] and [2 group + 1] = this threadgroup's share of s(1) and s(2).
/// Cost: 2 * p.block ext products, 64 * p.block + 32 bytes per threadgroup.
/// Lengths: c, w 2 * groups * p.block, partial 2 * groups.
/// Requires: threads_per_group <= 256.
[[max_total_threads_per_threadgroup(256)]]
kernel void whir_round_sums(
    device const FpExt* c [[buffer(0)]],
    device const FpExt* w [[buffer(1)]],
    device FpExt* partial [[buffer(2)]],
    constant WhirRoundParams& p [[buffer(3)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    LANE_MULTIPLE(p.block);
    FpExtL s1 = fpext_zero<uint_l>(), s2 = fpext_zero<uint_l>();
    for (uint i0 = 0u; i0 < p.block; i0 += tpg) {
        index_l i = index_l(tid) + i0;
        LANE_GUARD(i, p.block) {
            index_l pair = i + ulong(group) * p.block;
            FpExtPairL cc = lane_load_pair(c, pair), ww = lane_load_pair(w, pair);
            whir_pair_terms(cc.even, cc.odd, ww.even, ww.odd, s1, s2);
        }
    }
    FpExt t1 = fpext_group_sum(s1, scratch, tid, tpg);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    FpExt t2 = fpext_group_sum(s2, scratch, tid, tpg);
    if (LANE_LEADER(tid)) {
        partial[2u * group] = t1;
        partial[2u * group + 1u] = t2;
    }
}

/// Folds both tables by the challenge p.r and sums for the next round, as `whir_round_sums`.
/// Cost: 8 * p.count ext products, 192 * p.count + 32 bytes per threadgroup.
/// Lengths: c, w 4 * groups * p.count, c_out, w_out 2 * groups * p.count, partial 2 * groups.
/// Requires: threads_per_group <= 256.
[[max_total_threads_per_threadgroup(256)]]
kernel void whir_fold_sums(
    device const FpExt* c [[buffer(0)]],
    device const FpExt* w [[buffer(1)]],
    device FpExt* c_out [[buffer(2)]],
    device FpExt* w_out [[buffer(3)]],
    device FpExt* partial [[buffer(4)]],
    constant WhirFoldParams& p [[buffer(5)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    LANE_MULTIPLE(p.count);
    FpExt c_fold = p.r;
    FpExt w_fold0 = fp_one<uint>() - c_fold, w_fold1 = (c_fold + c_fold) - fp_one<uint>();
    FpExtL s1 = fpext_zero<uint_l>(), s2 = fpext_zero<uint_l>();
    for (uint i0 = 0u; i0 < p.count; i0 += tpg) {
        index_l i = index_l(tid) + i0;
        LANE_GUARD(i, p.count) {
            index_l pair = i + ulong(group) * p.count;
            index_l from = pair << 2u, to = pair << 1u;
            FpExtL c0 = lane_load(c, from) + lane_load(c, from + 1u) * c_fold;
            FpExtL c1 = lane_load(c, from + 2u) + lane_load(c, from + 3u) * c_fold;
            FpExtL w0 = lane_load(w, from) * w_fold0 + lane_load(w, from + 1u) * w_fold1;
            FpExtL w1 = lane_load(w, from + 2u) * w_fold0 + lane_load(w, from + 3u) * w_fold1;
            lane_store(c_out, to, c0);
            lane_store(c_out, to + 1u, c1);
            lane_store(w_out, to, w0);
            lane_store(w_out, to + 1u, w1);
            whir_pair_terms(c0, c1, w0, w1, s1, s2);
        }
    }
    FpExt t1 = fpext_group_sum(s1, scratch, tid, tpg);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    FpExt t2 = fpext_group_sum(s2, scratch, tid, tpg);
    if (LANE_LEADER(tid)) {
        partial[2u * group] = t1;
        partial[2u * group + 1u] = t2;
    }
}

/// One element of both tables per thread: the fold by the challenge p.r.
/// Cost: 2 ext products, 96 bytes per thread.
/// Lengths: c, w 2 * p.count, c_out, w_out p.count.
kernel void whir_fold_tables(
    device const FpExt* c [[buffer(0)]],
    device const FpExt* w [[buffer(1)]],
    device FpExt* c_out [[buffer(2)]],
    device FpExt* w_out [[buffer(3)]],
    constant WhirFoldParams& p [[buffer(4)]],
    uint gid [[thread_position_in_grid]]) {
    if (gid >= p.count) return;
    FpExt w0 = w[2u * gid], w1 = w[2u * gid + 1u];
    c_out[gid] = c[2u * gid] + c[2u * gid + 1u] * p.r;
    w_out[gid] = (w0 - w1) + (w1 + w1 - w0) * p.r;
}
