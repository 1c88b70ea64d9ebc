// Stacked reduction: sums over the rows of all heights at once. The tables of a height lie side by side: g_0, g_1, two weights, the
// weights. Weight y is eq(y; r) over the variables of the height that come after those of an element; the two in front of weight 0
// are the last two once more, so that the weight before each is its neighbour. Weights of the next variables are sums of neighbours.
#include "../field/jobs.h"
#include "../field/lane_ops.h"
#include "params.h"

/// Weights of a height before the univariate round: entry y of a job is low[y mod 2^a] high[y >> a], a = min(log_low, log_len), where
/// low and high are the tables of a and of log_len - a variables in two rows of such tables, of 1, 2, 4, ... entries from entry 1, 2,
/// 4, ... on; the row of high ones begins at 2^(log_low + 1). The first threadgroup of a job writes the two weights in front.
/// Given: entries.
/// Cost: entries ext products, 48 * entries bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); both rows are as long as the jobs need them,
/// each job's weights and two elements in front of them lie in `arena`; a block is no longer than 2^log_low. `entries` counts the weights.
[[max_total_threads_per_threadgroup(256)]]
kernel void stacked_eq_weights(
    device const StackedTableJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const FpExt* tables [[buffer(2)]],
    device FpExt* arena [[buffer(3)]],
    constant StackedTableParams& p [[buffer(4)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    StackedTableJob job = jobs[find_job(jobs, starts, group)];
    JobShare share = job_share(job.first_group, job.len, group, p.block);
    LANE_MULTIPLE(share.count);
    uint a = min(p.log_low, job.log_len);
    uint mask = (1u << a) - 1u;
    device const FpExt* low = tables + (1ul << a);
    device const FpExt* high = tables + (2ul << p.log_low) + (1ul << (job.log_len - a));
    device FpExt* out = arena + job.to;
    FpExt factor = high[share.first >> a];
    for (uint i0 = 0u; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) {
            lane_store(out, i + ulong(share.first), lane_load(low, i + ulong(share.first & mask)) * factor);
        }
    }
    if (share.first == 0u && LANE_LEADER(tid)) {
        for (uint k = 1u; k <= 2u; k++) {
            uint y = (job.len - k) & (job.len - 1u);
            *(out - k) = low[y & mask] * high[y >> a];
        }
    }
}

/// Sum of x over the threads of the threadgroup whose index has the same remainder by `width`, in the first `width` of them; `lines`
/// threads have each.
inline FpExt stacked_line_sum(FpExt x, threadgroup FpExt* scratch, uint thread_index, uint width, uint lines) {
    scratch[thread_index] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = lines; n > 1u;) {
        uint half_n = (n + 1u) >> 1;
        if (thread_index + half_n * width < n * width) scratch[thread_index] = scratch[thread_index] + scratch[thread_index + half_n * width];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        n = half_n;
    }
    return scratch[thread_index];
}

/// Univariate round, for each z of the skip domain: partials[group][0][z] = sum of w(x) g_0(z, x) over the points x of the threadgroup, [1] of
/// w(x) g_1(z, x), [2] of w(x - 1) g_1(z, x). 3 extension products for two elements that are read.
/// Given: points.
/// Cost: 3 * points << p.l_skip ext products, 32 * points << p.l_skip bytes per launch.
/// Lengths: partials groups * 3 << p.l_skip.
/// Requires: threads_per_group <= 256, p.l_skip < 32.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); the tables of each job lie in `arena`.
/// `points` counts those of all jobs.
[[max_total_threads_per_threadgroup(256)]]
kernel void stacked_skip_sums(
    device const StackedTableJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const FpExt* arena [[buffer(2)]],
    device FpExt* partials [[buffer(3)]],
    constant StackedTableParams& p [[buffer(4)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    LANE_MULTIPLE(1u << p.l_skip);
    StackedTableJob job = jobs[find_job(jobs, starts, group)];
    JobShare share = job_share(job.first_group, job.len, group, p.block);
    uint size = 1u << p.l_skip;
    device const FpExt* g0 = arena + job.from;
    device const FpExt* g1 = g0 + (ulong(job.len) << p.l_skip);
    device const FpExt* before = g1 + (ulong(job.len) << p.l_skip) + 1ul;
    device FpExt* out = partials + ulong(group) * 3ul * size;
    uint width = min(size, tpg);
#if LANE_WIDTH > 1
    uint line = 0u, lines = 1u;
#else
    uint lines = tpg / width, line = tid / width;
#endif
    for (uint z0 = 0u; z0 < size; z0 += width) {
#if LANE_WIDTH > 1
        index_l z = index_l(tid) + ulong(z0);
        bool inside = true;
#else
        index_l z = ulong(z0 + tid - line * width);
        bool inside = line < lines && z < size;
#endif
        FpExtL a = fpext_zero<uint_l>(), b = fpext_zero<uint_l>(), c = fpext_zero<uint_l>();
        if (inside) {
            for (uint i = line; i < share.count; i += lines) {
                ulong x = ulong(share.first) + i;
                index_l at = z + (x << p.l_skip);
                FpExtL v = lane_load(g1, at);
                a = a + lane_load(g0, at) * before[x + 1ul];
                b = b + v * before[x + 1ul];
                c = c + v * before[x];
            }
        }
#if LANE_WIDTH > 1
        lane_store(out, z, a);
        lane_store(out, z + ulong(size), b);
        lane_store(out, z + 2ul * size, c);
#else
        a = stacked_line_sum(a, scratch, tid, width, lines);
        b = stacked_line_sum(b, scratch, tid, width, lines);
        c = stacked_line_sum(c, scratch, tid, width, lines);
        if (tid < width && z < size) {
            out[z] = a;
            out[z + size] = b;
            out[z + 2u * size] = c;
        }
#endif
    }
}

/// Sums over the pairs of a thread: of w g_0 and w g_1 at X = 1 and X = 2, of w(y - 1) g_1(y) at X = 2.
struct StackedSumsL {
    FpExtL zero_one, zero_two, one_one, one_two, rotated_two;
};
inline StackedSumsL stacked_no_sums() {
    StackedSumsL s;
    s.zero_one = s.zero_two = s.one_one = s.one_two = s.rotated_two = fpext_zero<uint_l>();
    return s;
}

/// The tables of a height, of `pairs` pairs after a fold, before it (read) and after it (written).
struct StackedTables {
    device const FpExt* weights;
    device FpExt* out;
    ulong pairs;
};

/// Weight of pair y after the fold, whose `before` is the one of pair y - 1.
struct StackedWeightL {
    FpExtL at, before;
};

/// Writes pair y of both folded tables and its weight, and adds its terms: 5 extension products.
inline StackedSumsL stacked_pair(StackedSumsL s, StackedTables t, index_l y, FpExtPairL a, FpExtPairL b) {
    FpExtPairL w = lane_load_pair(t.weights, y), v = lane_load_pair(t.weights - 2, y);
    FpExtL weight = w.even + w.odd, before = v.even + v.odd;
    lane_store((device FpExtPair*)t.out, y, a);
    lane_store((device FpExtPair*)(t.out + 2ul * t.pairs), y, b);
    lane_store(t.out + 4ul * t.pairs + 2ul, y, weight);
    FpExtL a2 = a.odd + a.odd - a.even, b2 = b.odd + b.odd - b.even;
    s.zero_one = s.zero_one + a.odd * weight;
    s.zero_two = s.zero_two + a2 * weight;
    s.one_one = s.one_one + b.odd * weight;
    s.one_two = s.one_two + b2 * weight;
    s.rotated_two = s.rotated_two + b2 * before;
    return s;
}

/// Writes the two weights in front of the folded ones: the last two of them.
inline void stacked_weights_in_front(StackedTables t) {
    for (ulong k = 1ul; k <= 2ul; k++) {
        ulong y = (t.pairs - k) & (t.pairs - 1ul);
        t.out[4ul * t.pairs + 2ul - k] = t.weights[2ul * y] + t.weights[2ul * y + 1ul];
    }
}

// The threadgroup's share of the round polynomial -> partials[2 group] at X = 1, [2 group + 1] at X = 2.
#define STACKED_STORE_SUMS(s, work, partials, scratch, group, tid, tpg)                         \
    FpExt one0 = work[STACKED_ONE], one1 = work[STACKED_ONE + 1u];                              \
    FpExt two0 = work[STACKED_TWO], two1 = work[STACKED_TWO + 1u], two2 = work[STACKED_TWO + 2u];\
    FpExtL one = s.zero_one * one0 + s.one_one * one1;                                          \
    FpExtL two = s.zero_two * two0 + s.one_two * two1 + s.rotated_two * two2;                   \
    FpExt at_one = fpext_group_sum(one, scratch, tid, tpg);                                     \
    threadgroup_barrier(mem_flags::mem_threadgroup);                                            \
    FpExt at_two = fpext_group_sum(two, scratch, tid, tpg);                                     \
    if (LANE_LEADER(tid)) {                                                                     \
        partials[2u * group] = at_one;                                                          \
        partials[2u * group + 1u] = at_two;                                                     \
    }

/// First round after the univariate one: folds 2^l_skip neighbours by `lagrange`, one pair of both tables per thread at a time, and sums for the round.
/// Given: pairs.
/// Cost: (4 << p.l_skip) * pairs + 5 * pairs ext products, (64 << p.l_skip) * pairs + 128 * pairs bytes per launch.
/// Lengths: lagrange 1 << p.l_skip, work 40, partials 2 * groups.
/// Requires: threads_per_group <= 256, p.l_skip < 32.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); the tables of each job lie in `arena`, those that it
/// writes in `out`. `pairs` counts those of all jobs.
[[max_total_threads_per_threadgroup(256)]]
kernel void stacked_skip_fold(
    device const StackedTableJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const FpExt* arena [[buffer(2)]],
    device const FpExt* lagrange [[buffer(3)]],
    device const FpExt* work [[buffer(4)]],
    device FpExt* out [[buffer(5)]],
    device FpExt* partials [[buffer(6)]],
    constant StackedRoundParams& p [[buffer(7)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    StackedTableJob job = jobs[find_job(jobs, starts, group)];
    JobShare share = job_share(job.first_group, job.len, group, p.block);
    LANE_MULTIPLE(share.count);
    device const FpExt* g0 = arena + job.from;
    device const FpExt* g1 = g0 + (2ul * job.len << p.l_skip);
    StackedTables t;
    t.weights = g1 + (2ul * job.len << p.l_skip) + 2ul;
    t.out = out + job.to;
    t.pairs = job.len;
    uint size = 1u << p.l_skip;
    StackedSumsL sums = stacked_no_sums();
    for (uint i0 = 0u; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) {
            index_l y = i + ulong(share.first);
            index_l at = y << (p.l_skip + 1u);
            FpExtPairL a, b;
            a.even = a.odd = b.even = b.odd = fpext_zero<uint_l>();
            for (uint z = 0u; z < size; z++) {
                FpExt l = lagrange[z];
                a.even = a.even + lane_load(g0, at + ulong(z)) * l;
                a.odd = a.odd + lane_load(g0, at + ulong(z + size)) * l;
                b.even = b.even + lane_load(g1, at + ulong(z)) * l;
                b.odd = b.odd + lane_load(g1, at + ulong(z + size)) * l;
            }
            sums = stacked_pair(sums, t, y, a, b);
        }
    }
    if (share.first == 0u && LANE_LEADER(tid)) stacked_weights_in_front(t);
    STACKED_STORE_SUMS(sums, work, partials, scratch, group, tid, tpg)
}

/// A later round: folds both tables by the last challenge, one pair of each per thread at a time, and sums for the round.
/// Given: pairs.
/// Cost: 9 * pairs ext products, 272 * pairs bytes per launch.
/// Lengths: work 40, partials 2 * groups.
/// Requires: threads_per_group <= 256, p.round >= 2, p.round <= 33.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); the tables of each job lie in `in`, those that it writes in
/// `out`. `pairs` counts those of all jobs.
[[max_total_threads_per_threadgroup(256)]]
kernel void stacked_fold_round(
    device const StackedTableJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const FpExt* in [[buffer(2)]],
    device const FpExt* work [[buffer(3)]],
    device FpExt* out [[buffer(4)]],
    device FpExt* partials [[buffer(5)]],
    constant StackedRoundParams& p [[buffer(6)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    StackedTableJob job = jobs[find_job(jobs, starts, group)];
    JobShare share = job_share(job.first_group, job.len, group, p.block);
    LANE_MULTIPLE(share.count);
    device const FpExt* g0 = in + job.from;
    device const FpExt* g1 = g0 + 4ul * job.len;
    StackedTables t;
    t.weights = g1 + 4ul * job.len + 2ul;
    t.out = out + job.to;
    t.pairs = job.len;
    FpExt u = work[p.round - 2u];
    StackedSumsL sums = stacked_no_sums();
    for (uint i0 = 0u; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) {
            index_l y = i + ulong(share.first);
            index_l from = y << 1u;
            FpExtPairL a0 = lane_load_pair(g0, from), a1 = lane_load_pair(g0, from + 1ul);
            FpExtPairL b0 = lane_load_pair(g1, from), b1 = lane_load_pair(g1, from + 1ul);
            FpExtPairL a, b;
            a.even = a0.even + (a0.odd - a0.even) * u;
            a.odd = a1.even + (a1.odd - a1.even) * u;
            b.even = b0.even + (b0.odd - b0.even) * u;
            b.odd = b1.even + (b1.odd - b1.even) * u;
            sums = stacked_pair(sums, t, y, a, b);
        }
    }
    if (share.first == 0u && LANE_LEADER(tid)) stacked_weights_in_front(t);
    STACKED_STORE_SUMS(sums, work, partials, scratch, group, tid, tpg)
}
