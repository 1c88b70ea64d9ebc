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
// Words that are exchanged with the transcript at a time: four claims and two challenges.
constant constexpr uint GKR_WORDS = 24u;
// Words of a polynomial, s(1), s(2), s(3), and of the sums that it follows from.
constant constexpr uint GKR_POLY = 12u;
constant constexpr uint GKR_SUM = 8u;

/// Where coordinate `i` of the point of a layer of `rounds` rounds lies in the log; `previous` as in `GkrStartParams`.
inline uint gkr_coordinate(uint previous, uint rounds, uint i) { return i == 0u ? previous + 4u * rounds + 1u : previous + 4u * i; }

/// The sums of a SIMD-group's threads -> its eight words of `sums`. Halves of the lanes take halves of the words: 9 shuffles,
/// where eight sums of their own would take 40.
inline void gkr_put_sums(GkrSumL sum, threadgroup Fp* sums, uint tid, uint width) {
    Fp w[GKR_SUM];
    for (uint k = 0; k < 4u; k++) {
        w[k] = sum.at.c[k];
        w[4u + k] = sum.lead.c[k];
    }
    threadgroup Fp* own = sums + GKR_SUM * (tid / width);
    if (width < GKR_SUM) {  // one thread
        for (uint k = 0; k < GKR_SUM; k++) own[k] = w[k];
        return;
    }
    uint lane = tid % width, m = width >> 1;
    MSL_UNROLL for (uint s = 0; s < 3u; s++) {
        bool upper = (lane & m) != 0u;
        MSL_UNROLL for (uint k = 0; k < (4u >> s); k++) {
            Fp x = w[k], y = w[k + (4u >> s)];
            Fp keep = Fp{select(x.v, y.v, upper)}, give = Fp{select(y.v, x.v, upper)};
            w[k] = keep + Fp{simd_shuffle_xor(give.v, ushort(m))};
        }
        m >>= 1;
    }
    for (; m > 0u; m >>= 1) w[0] = w[0] + Fp{simd_shuffle_xor(w[0].v, ushort(m))};
    uint lanes = width / GKR_SUM;
    if (lane % lanes == 0u) own[lane / lanes] = w[0];
}
/// For active threads: the sums of all `groups` SIMD-groups.
inline GkrSumL gkr_get_sums(TranscriptSponge t, threadgroup const Fp* sums, uint groups) {
    GkrSumL sum = gkr_no_sum();
    if (t.spread) {
        uint word = t.lane % GKR_SUM;
        Fp even = sums[word], odd = fp_zero<uint>();
        for (uint g = 1; g < groups; g += 2u) {
            odd = odd + sums[GKR_SUM * g + word];
            if (g + 1u < groups) even = even + sums[GKR_SUM * (g + 1u) + word];
        }
        Fp total = even + odd;
        for (uint k = 0; k < 4u; k++) {
            sum.at.c[k] = spread_from(total, k);
            sum.lead.c[k] = spread_from(total, 4u + k);
        }
    } else {
        for (uint g = 0; g < groups; g++) {
            for (uint k = 0; k < 4u; k++) {
                sum.at.c[k] = sum.at.c[k] + sums[GKR_SUM * g + k];
                sum.lead.c[k] = sum.lead.c[k] + sums[GKR_SUM * g + 4u + k];
            }
        }
    }
    return sum;
}

// The claim of a layer between two rounds is divided by `scale`, the eq factor of the challenges so far. The inner polynomial of
// a round is H(X) = u(X) at + v(X) + (X^2 - X) lead, from its sums `at` and `lead`, with u(X) = 1 - X / xi and v(X) = X claim / xi.
// If xi = 0, where `at` is H(1) and the claim H(0), u(X) = X and v(X) = (1 - X) claim.

/// The coordinate of a round.
struct GkrPoint {
    FpExt eq_zero, slope;  // eq(xi, X) = eq_zero + X slope
    FpExt inverse;
    bool zero;
};
inline GkrPoint gkr_point(FpExt xi, FpExt inverse) {
    GkrPoint p;
    p.slope = (xi + xi) - fp_one<uint>();
    p.eq_zero = fp_one<uint>() - xi;
    p.inverse = inverse;
    p.zero = gkr_is_zero(xi);
    return p;
}
/// The claim H(r); 3 ext products.
inline FpExt gkr_next_claim(GkrPoint p, FpExt claim, GkrSumL sums, FpExt r) {
    FpExt at_zero = sums.at, at_one = sums.at + (claim - sums.at) * p.inverse;
    if (p.zero) {
        at_zero = claim;
        at_one = sums.at;
    }
    return at_zero + (((at_one - at_zero) - sums.lead) + sums.lead * r) * r;
}
/// 1 ext product.
inline FpExt gkr_next_scale(GkrPoint p, FpExt scale, FpExt r) { return scale * (p.eq_zero + p.slope * r); }

/// What coefficient `k` of a product takes of the other factor's coefficients: (a b).c[k] = sum_j row.c[j] b.c[j].
inline FpExt gkr_product_row(FpExt a, uint k) {
    Fp w1 = fp_mul_11(a.c[1]), w2 = fp_mul_11(a.c[2]), w3 = fp_mul_11(a.c[3]);
    // From a0, w3, w2, w1 for k = 0 to a3, a2, a1, a0 for k = 3.
    bool odd = (k & 1u) != 0u, high = (k & 2u) != 0u;
    Fp x0 = Fp{select(a.c[0].v, a.c[1].v, odd)}, x1 = Fp{select(w3.v, a.c[0].v, odd)};
    Fp x2 = Fp{select(w2.v, w3.v, odd)}, x3 = Fp{select(w1.v, w2.v, odd)};
    Fp y0 = Fp{select(a.c[2].v, a.c[3].v, odd)}, y1 = Fp{select(a.c[1].v, a.c[2].v, odd)};
    return fpext_make(Fp{select(x0.v, y0.v, high)}, Fp{select(x1.v, y1.v, high)}, Fp{select(x2.v, x0.v, high)},
                      Fp{select(x3.v, x1.v, high)});
}
/// sum_j row.c[j] b.c[j].
inline Fp gkr_dot(FpExt row, FpExt b) {
    ulong acc = fp_acc_mad(fp_acc_mul(row.c[0].v, b.c[0].v), row.c[1].v, b.c[1].v);
    return Fp{fp_acc_reduce(fp_acc_mad(fp_acc_mad(acc, row.c[2].v, b.c[2].v), row.c[3].v, b.c[3].v))};
}
/// Word `i` of a polynomial, s(1), s(2), s(3), before its sums are known: dot(at, sums.at) + dot(lead, sums.lead) + rest.
struct GkrPolyWord {
    FpExt at, lead;
    Fp rest;
};
/// scale eq(xi, x); 1 ext product.
inline FpExt gkr_poly_scale(GkrPoint p, FpExt scale, Fp x) { return scale * (p.eq_zero + p.slope * x); }
/// Prepares a round in `poly`, before a barrier: thread i, or thread 0, what the sums of word i are multiplied by, and the same
/// thread of the second SIMD-group, if there is one, the rest; these have `claim` and `scale`. 2 and 3 ext products.
inline void gkr_prepare(GkrPoint p, FpExt claim, FpExt scale, threadgroup GkrPolyWord* poly, uint tid, uint tpg, uint width) {
    uint step = width < TRANSCRIPT_WIDTH ? GKR_POLY : 1u;
    for (uint i = tid * step; i < GKR_POLY; i++) {
        Fp x = fp_from_u32<uint>(i / 4u + 1u);
        FpExt s = gkr_poly_scale(p, scale, x), inside = fp_one<uint>() - p.inverse * x;
        if (p.zero) inside = fpext_from_base(x);
        poly[i].at = gkr_product_row(s * inside, i % 4u);
        poly[i].lead = gkr_product_row(s, i % 4u) * (x * x - x);
        if (step == 1u) break;
    }
    for (uint i = (tid - (tpg > width ? width : 0u)) * step; i < GKR_POLY; i++) {
        Fp x = fp_from_u32<uint>(i / 4u + 1u);
        FpExt s = gkr_poly_scale(p, scale, x), rest = claim * (p.inverse * x);
        if (p.zero) rest = claim * (fp_one<uint>() - x);
        poly[i].rest = gkr_dot(gkr_product_row(s, i % 4u), rest);
        if (step == 1u) break;
    }
}
inline Fp gkr_poly_value(threadgroup const GkrPolyWord* poly, uint i, GkrSumL sums) {
    return (gkr_dot(poly[i].at, sums.at) + gkr_dot(poly[i].lead, sums.lead)) + poly[i].rest;
}

/// What a round leaves to the log, and its challenge.
struct GkrRoundEnd {
    FpExt r;
    Fp poly;    // word `lane` of the polynomial
    Fp sample;  // of lanes 0 to 3: word of r
};
/// For active threads: observes the polynomial and samples the challenge.
inline GkrRoundEnd gkr_end_round(thread TranscriptSponge& t, threadgroup Fp* cells, threadgroup Fp* words,
                                 threadgroup const GkrPolyWord* poly, GkrSumL sums) {
    GkrRoundEnd e;
    e.poly = gkr_poly_value(poly, min(t.lane, GKR_POLY - 1u), sums);
    if (!t.spread) {
        for (uint i = 0; i < GKR_POLY; i++) words[i] = gkr_poly_value(poly, i, sums);
    }
    e.sample = transcript_exchange(t, cells, words, e.poly, GKR_POLY, 4u);
    e.r = transcript_sampled(t, words + GKR_POLY, e.sample, 0u);
    return e;
}
/// For active threads: the polynomial and the challenge in the log.
inline void gkr_log_round(TranscriptSponge t, threadgroup const Fp* words, GkrRoundEnd e, device FpExt* at, uint tid) {
    device Fp* out = (device Fp*)at;
    transcript_write(t, words, e.poly, out, GKR_POLY, tid);
    transcript_write(t, words + GKR_POLY, e.sample, out + GKR_POLY, 4u, tid);
}
/// Begins a layer of `rounds` rounds, when lambda and all of the layer above are in the log, which all threads see: joins its
/// claims to one by mu and lambda, and inverts the coordinates of its point.
inline void gkr_begin_layer(device const FpExt* log, device FpExt* work, uint previous, uint rounds, uint tid, uint tpg) {
    for (uint i = tid; i < rounds; i += tpg) {
        work[GKR_INVERSES + i] = fpext_inv(log[gkr_coordinate(previous, rounds, i)]);
    }
    // The last thread, which seldom has a coordinate.
    if (tid == tpg - 1u) {
        uint claims = previous + 4u * rounds - 3u;
        FpExt p0 = log[claims], q0 = log[claims + 1u], p1 = log[claims + 2u], q1 = log[claims + 3u];
        FpExt mu = log[claims + 4u], lambda = log[claims + 5u];
        work[GKR_CLAIM] = (p0 + mu * (p1 - p0)) + lambda * (q0 + mu * (q1 - q0));
        work[GKR_SCALE] = fpext_one<uint>();
    }
}
