// LogUp through GKR: the tree of fraction sums and the sumcheck rounds of its layers.
// Layouts: docs/design/gkr.md. An "ext product" is about 9.5 base-field products.
#include "build.h"
#include "eq.h"
#include "round.h"

// Two sums for each SIMD-group of a threadgroup: up to 256 threads, SIMD-groups of 8 or more.
constant constexpr uint GKR_SUMS = 64u;

/// One entry of the eq tables per thread: the heap of the low coordinates, then the heap of the high
/// ones. Entry 2^j + y of a heap is eq(its last j coordinates, y), bit 0 of y for the first of them.
/// Cost: max(params.low_vars, params.high_vars) ext products, 16 bytes per thread.
/// Lengths: coordinates params.first + params.stride * params.vars + 1, out params.entries.
/// Requires: params.low_vars <= 31, params.high_vars <= 31.
kernel void gkr_eq_heaps(
    device const FpExt* coordinates [[buffer(0)]],
    device FpExt* out [[buffer(1)]],
    constant GkrEqParams& params [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]])
{
    if (gid >= params.entries) return;
    index_l i = index_l(gid);
    lane_store(out, i, gkr_eq_entry(coordinates, params, to_vec(i)));
}

/// The two layers above the leaves, whose numerators are in the base field, four leaves per thread; those that are padding are not read.
/// Cost: 5 * min(threads, params.real) ext products, 16 * min(threads, params.real) products,
/// 80 * min(threads, params.real) + 96 * threads bytes per launch.
/// Lengths: p, q 4 * params.quads, parents 16 * params.quads, grandparents 8 * params.quads.
kernel void gkr_build_leaves(
    device const Fp* p [[buffer(0)]],
    device const FpExt* q [[buffer(1)]],
    device Fp* parents [[buffer(2)]],
    device Fp* grandparents [[buffer(3)]],
    constant GkrBuildParams& params [[buffer(4)]],
    gid_l gid [[thread_position_in_grid]])
{
    if (gid >= params.quads) return;
    if (lane_base(index_l(gid)) < params.real) {
        gkr_build_quad<GkrLeaves>(p, q, parents, grandparents, params.quads, index_l(gid));
    } else {
        gkr_build_padding(params.padding, parents, grandparents, params.quads, index_l(gid));
    }
}

/// As `gkr_build_leaves` for a layer in planes, every layer above the leaves.
/// Cost: 9 * min(threads, params.real) ext products, 128 * min(threads, params.real) + 96 * threads bytes per launch.
/// Lengths: p, q, parents 16 * params.quads, grandparents 8 * params.quads.
kernel void gkr_build_planes(
    device const Fp* p [[buffer(0)]],
    device const Fp* q [[buffer(1)]],
    device Fp* parents [[buffer(2)]],
    device Fp* grandparents [[buffer(3)]],
    constant GkrBuildParams& params [[buffer(4)]],
    gid_l gid [[thread_position_in_grid]])
{
    if (gid >= params.quads) return;
    if (lane_base(index_l(gid)) < params.real) {
        gkr_build_quad<GkrPlanes>(p, q, parents, grandparents, params.quads, index_l(gid));
    } else {
        gkr_build_padding(params.padding, parents, grandparents, params.quads, index_l(gid));
    }
}

// The sums of a threadgroup -> partials[2 group], partials[2 group + 1]. `sums` has room for two
// elements of each SIMD-group.
#define GKR_STORE_SUMS(sum, scale, partials, sums, group, tid, tpg, width)                  \
    FpExtL total_at = fpext_simd_sum(sum.at, width);                                        \
    FpExtL total_lead = fpext_simd_sum(sum.lead, width);                                    \
    if (gkr_simd_leader(tid, width)) {                                                      \
        sums[2u * gkr_simd_index(tid, width)] = fpext_lane_first(total_at);                 \
        sums[2u * gkr_simd_index(tid, width) + 1u] = fpext_lane_first(total_lead);          \
    }                                                                                       \
    threadgroup_barrier(mem_flags::mem_threadgroup);                                        \
    if (LANE_LEADER(tid)) {                                                                 \
        FpExt at = sums[0], lead = sums[1];                                                 \
        for (uint k = 1; k * width < tpg; k++) {                                            \
            at = at + sums[2u * k];                                                         \
            lead = lead + sums[2u * k + 1u];                                                \
        }                                                                                   \
        partials[2u * group] = at * scale;                                                  \
        partials[2u * group + 1u] = lead * scale;                                           \
    }

#if LANE_WIDTH > 1
inline bool gkr_simd_leader(tid_l, uint) { return true; }
inline uint gkr_simd_index(tid_l, uint) { return 0u; }
#else
inline bool gkr_simd_leader(tid_l tid, uint width) { return tid % width == 0u; }
inline uint gkr_simd_index(tid_l tid, uint width) { return tid / width; }
#endif

/// The high eq factor that all pairs of a threadgroup share.
inline FpExt gkr_group_scale(device const FpExt* eq, constant GkrRoundParams& params, ulong first) {
    if (params.split != 0u) return eq[params.eq_high + (first >> params.low_vars)];
    return fpext_one<uint>();
}

/// Round 0 of the sumcheck of the leaves: the sums of a threadgroup over its `chunk` pairs, of which it reads the weights alone if they are padding.
/// Cost: 6 * min(groups * params.chunk, params.real) ext products, 8 * min(groups * params.chunk, params.real) products,
/// 80 * min(groups * params.chunk, params.real) + 16 * groups * params.chunk + 32 * groups bytes per launch.
/// Lengths: p, q 4 * groups * params.chunk, challenges max(params.lambda, params.xi) + 1, partials 2 * groups, eq params.split != 0 ?
/// max(params.eq_low + (1 << params.low_vars), params.eq_high + ((groups - 1) * params.chunk >> params.low_vars) + 1) :
/// params.eq_low + groups * params.chunk.
/// Requires: params.split == 0 or (1 << params.low_vars) % params.chunk == 0.
[[max_total_threads_per_threadgroup(256)]]
kernel void gkr_first_round_leaves(
    device const Fp* p [[buffer(0)]],
    device const FpExt* q [[buffer(1)]],
    device const FpExt* eq [[buffer(2)]],
    device FpExt* partials [[buffer(3)]],
    constant FpExt* challenges [[buffer(4)]],
    constant GkrRoundParams& params [[buffer(5)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint group [[threadgroup_position_in_grid]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]])
{
    LANE_MULTIPLE(params.chunk);
    threadgroup FpExt sums[GKR_SUMS];
    ulong first = ulong(group) * params.chunk;
    ulong low = gkr_low_base(params, first);
    FpExt lambda = challenges[params.lambda];
    bool at_one = gkr_is_zero(challenges[params.xi]);
    GkrSumL sum = gkr_no_sum();
    if (first >= params.real) {
        sum.at = gkr_padding_sum(eq + low, params, lambda, tid, tpg);
    } else {
        for (uint i0 = 0; i0 < params.chunk; i0 += tpg) {
            index_l i = index_l(tid) + ulong(i0);
            LANE_GUARD(i, params.chunk) {
                FpExtL weight = lane_load(eq, i + low);
                sum = gkr_first_pair<GkrLeaves>(sum, p, q, params.pairs, lambda, weight, at_one, i + first);
            }
        }
    }
    FpExt scale = gkr_group_scale(eq, params, first);
    GKR_STORE_SUMS(sum, scale, partials, sums, group, tid, tpg, width)
}

/// As `gkr_first_round_leaves` for a layer in planes.
/// Cost: 8 * min(groups * params.chunk, params.real) ext products,
/// 128 * min(groups * params.chunk, params.real) + 16 * groups * params.chunk + 32 * groups bytes per launch.
/// Lengths: p, q 16 * params.pairs, challenges max(params.lambda, params.xi) + 1, partials 2 * groups, eq params.split != 0 ?
/// max(params.eq_low + (1 << params.low_vars), params.eq_high + ((groups - 1) * params.chunk >> params.low_vars) + 1) :
/// params.eq_low + groups * params.chunk.
/// Requires: groups * params.chunk <= params.pairs,
/// params.split == 0 or (1 << params.low_vars) % params.chunk == 0.
[[max_total_threads_per_threadgroup(256)]]
kernel void gkr_first_round_planes(
    device const Fp* p [[buffer(0)]],
    device const Fp* q [[buffer(1)]],
    device const FpExt* eq [[buffer(2)]],
    device FpExt* partials [[buffer(3)]],
    constant FpExt* challenges [[buffer(4)]],
    constant GkrRoundParams& params [[buffer(5)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint group [[threadgroup_position_in_grid]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]])
{
    LANE_MULTIPLE(params.chunk);
    threadgroup FpExt sums[GKR_SUMS];
    ulong first = ulong(group) * params.chunk;
    ulong low = gkr_low_base(params, first);
    FpExt lambda = challenges[params.lambda];
    bool at_one = gkr_is_zero(challenges[params.xi]);
    GkrSumL sum = gkr_no_sum();
    if (first >= params.real) {
        sum.at = gkr_padding_sum(eq + low, params, lambda, tid, tpg);
    } else {
        for (uint i0 = 0; i0 < params.chunk; i0 += tpg) {
            index_l i = index_l(tid) + ulong(i0);
            LANE_GUARD(i, params.chunk) {
                FpExtL weight = lane_load(eq, i + low);
                sum = gkr_first_pair<GkrPlanes>(sum, p, q, params.pairs, lambda, weight, at_one, i + first);
            }
        }
    }
    FpExt scale = gkr_group_scale(eq, params, first);
    GKR_STORE_SUMS(sum, scale, partials, sums, group, tid, tpg, width)
}

/// Folds the leaves by the first challenge into columns a, b, c, d and evaluates round 1.
/// Cost: 14 * min(groups * params.chunk, params.real) ext products, 16 * min(groups * params.chunk, params.real) products,
/// 288 * min(groups * params.chunk, params.real) + 16 * groups * params.chunk + 32 * groups +
/// (params.stores != 0 ? 128 * (groups * params.chunk - params.real) : 0) bytes per launch.
/// Lengths: p, q 8 * groups * params.chunk, out 32 * params.pairs,
/// challenges max(params.lambda, params.r, params.xi) + 1, partials 2 * groups,
/// eq params.split != 0 ?
/// max(params.eq_low + (1 << params.low_vars), params.eq_high + ((groups - 1) * params.chunk >> params.low_vars) + 1) :
/// params.eq_low + groups * params.chunk.
/// Requires: groups * params.chunk <= params.pairs,
/// params.split == 0 or (1 << params.low_vars) % params.chunk == 0.
[[max_total_threads_per_threadgroup(256)]]
kernel void gkr_first_fold_leaves(
    device const Fp* p [[buffer(0)]],
    device const FpExt* q [[buffer(1)]],
    device Fp* out [[buffer(2)]],
    device const FpExt* eq [[buffer(3)]],
    device FpExt* partials [[buffer(4)]],
    constant FpExt* challenges [[buffer(5)]],
    constant GkrRoundParams& params [[buffer(6)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint group [[threadgroup_position_in_grid]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]])
{
    LANE_MULTIPLE(params.chunk);
    threadgroup FpExt sums[GKR_SUMS];
    ulong first = ulong(group) * params.chunk;
    ulong low = gkr_low_base(params, first);
    FpExt lambda = challenges[params.lambda], r = challenges[params.r];
    bool at_one = gkr_is_zero(challenges[params.xi]);
    GkrSumL sum = gkr_no_sum();
    if (first >= params.real) {
        sum.at = gkr_padding_sum(eq + low, params, lambda, tid, tpg);
        gkr_store_padding(out, params, lambda, first, tid, tpg);
    } else {
        for (uint i0 = 0; i0 < params.chunk; i0 += tpg) {
            index_l i = index_l(tid) + ulong(i0);
            LANE_GUARD(i, params.chunk) {
                FpExtL weight = lane_load(eq, i + low);
                sum = gkr_first_fold_pair<GkrLeaves>(sum, p, q, out, params.pairs, lambda, r, weight, at_one, i + first);
            }
        }
    }
    FpExt scale = gkr_group_scale(eq, params, first);
    GKR_STORE_SUMS(sum, scale, partials, sums, group, tid, tpg, width)
}

/// As `gkr_first_fold_leaves` for a layer in planes.
/// Cost: 16 * min(groups * params.chunk, params.real) ext products,
/// 384 * min(groups * params.chunk, params.real) + 16 * groups * params.chunk + 32 * groups +
/// (params.stores != 0 ? 128 * (groups * params.chunk - params.real) : 0) bytes per launch.
/// Lengths: p, q 32 * params.pairs, out 32 * params.pairs, challenges max(params.lambda, params.r, params.xi) + 1,
/// partials 2 * groups, eq params.split != 0 ?
/// max(params.eq_low + (1 << params.low_vars), params.eq_high + ((groups - 1) * params.chunk >> params.low_vars) + 1) :
/// params.eq_low + groups * params.chunk.
/// Requires: groups * params.chunk <= params.pairs,
/// params.split == 0 or (1 << params.low_vars) % params.chunk == 0.
[[max_total_threads_per_threadgroup(256)]]
kernel void gkr_first_fold_planes(
    device const Fp* p [[buffer(0)]],
    device const Fp* q [[buffer(1)]],
    device Fp* out [[buffer(2)]],
    device const FpExt* eq [[buffer(3)]],
    device FpExt* partials [[buffer(4)]],
    constant FpExt* challenges [[buffer(5)]],
    constant GkrRoundParams& params [[buffer(6)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint group [[threadgroup_position_in_grid]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]])
{
    LANE_MULTIPLE(params.chunk);
    threadgroup FpExt sums[GKR_SUMS];
    ulong first = ulong(group) * params.chunk;
    ulong low = gkr_low_base(params, first);
    FpExt lambda = challenges[params.lambda], r = challenges[params.r];
    bool at_one = gkr_is_zero(challenges[params.xi]);
    GkrSumL sum = gkr_no_sum();
    if (first >= params.real) {
        sum.at = gkr_padding_sum(eq + low, params, lambda, tid, tpg);
        gkr_store_padding(out, params, lambda, first, tid, tpg);
    } else {
        for (uint i0 = 0; i0 < params.chunk; i0 += tpg) {
            index_l i = index_l(tid) + ulong(i0);
            LANE_GUARD(i, params.chunk) {
                FpExtL weight = lane_load(eq, i + low);
                sum = gkr_first_fold_pair<GkrPlanes>(sum, p, q, out, params.pairs, lambda, r, weight, at_one, i + first);
            }
        }
    }
    FpExt scale = gkr_group_scale(eq, params, first);
    GKR_STORE_SUMS(sum, scale, partials, sums, group, tid, tpg, width)
}

/// Folds the columns a, b, c, d of length 4 pairs by the last challenge into columns of length 2 pairs
/// and evaluates the next round.
/// Cost: 14 * min(groups * params.chunk, params.real) ext products,
/// 384 * min(groups * params.chunk, params.real) + 16 * groups * params.chunk + 32 * groups +
/// (params.stores != 0 ? 128 * (groups * params.chunk - params.real) : 0) bytes per launch.
/// Lengths: in 64 * params.pairs, out 32 * params.pairs, challenges max(params.lambda, params.r, params.xi) + 1,
/// partials 2 * groups, eq params.split != 0 ?
/// max(params.eq_low + (1 << params.low_vars), params.eq_high + ((groups - 1) * params.chunk >> params.low_vars) + 1) :
/// params.eq_low + groups * params.chunk.
/// Requires: groups * params.chunk <= params.pairs,
/// params.split == 0 or (1 << params.low_vars) % params.chunk == 0.
[[max_total_threads_per_threadgroup(256)]]
kernel void gkr_fold_round(
    device const Fp* in [[buffer(0)]],
    device Fp* out [[buffer(1)]],
    device const FpExt* eq [[buffer(2)]],
    device FpExt* partials [[buffer(3)]],
    constant FpExt* challenges [[buffer(4)]],
    constant GkrRoundParams& params [[buffer(5)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint group [[threadgroup_position_in_grid]],
    uint tpg [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]])
{
    LANE_MULTIPLE(params.chunk);
    threadgroup FpExt sums[GKR_SUMS];
    ulong first = ulong(group) * params.chunk;
    ulong low = gkr_low_base(params, first);
    ulong len = 2 * params.pairs;
    FpExt r = challenges[params.r];
    bool at_one = gkr_is_zero(challenges[params.xi]);
    GkrSumL sum = gkr_no_sum();
    if (first >= params.real) {
        FpExt lambda = challenges[params.lambda];
        sum.at = gkr_padding_sum(eq + low, params, lambda, tid, tpg);
        gkr_store_padding(out, params, lambda, first, tid, tpg);
    } else {
        for (uint i0 = 0; i0 < params.chunk; i0 += tpg) {
            index_l i = index_l(tid) + ulong(i0);
            LANE_GUARD(i, params.chunk) {
                index_l y = i + first;
                GkrSumL u = gkr_fold_product(in, out, len, r, at_one, y);
                GkrSumL v = gkr_fold_product(in + 4 * EXT_DEGREE * len, out + 2 * EXT_DEGREE * len, len, r, at_one, y);
                sum = gkr_accumulate(sum, lane_load(eq, i + low), u, v);
            }
        }
    }
    FpExt scale = gkr_group_scale(eq, params, first);
    GKR_STORE_SUMS(sum, scale, partials, sums, group, tid, tpg, width)
}
