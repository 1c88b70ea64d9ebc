#pragma once
// One round of a layer's sumcheck. The inner polynomial of a pair is
//   h(X) = a(X) b(X) + c(X) d(X),  a = p0 + lambda q0, b = q1, c = p1, d = q0,
// with all four linear in X; a round needs sum_y eq(y) h(0) (or h(1)) and the sum of leading coefficients.
#include "pack.h"
#include "params.h"

/// Sums over the pairs of a thread.
struct GkrSumL {
    FpExtL at;    // of h(0), or of h(1)
    FpExtL lead;  // of the coefficient of X^2
};

/// The two values of a product's linear factors -> value and leading coefficient; 2 ext products.
template <typename N>
inline GkrSumL gkr_product(FpExtL x0, FpExtL x1, N y0, N y1, bool at_one) {
    GkrSumL r;
    if (at_one) r.at = x1 * y1;
    else r.at = x0 * y0;
    r.lead = (x1 - x0) * (y1 - y0);
    return r;
}
/// sum += weight * (u + v); 2 ext products.
inline GkrSumL gkr_accumulate(GkrSumL sum, FpExtL weight, GkrSumL u, GkrSumL v) {
    sum.at = sum.at + weight * (u.at + v.at);
    sum.lead = sum.lead + weight * (u.lead + v.lead);
    return sum;
}
inline GkrSumL gkr_no_sum() {
    GkrSumL r;
    r.at = fpext_zero<uint_l>();
    r.lead = fpext_zero<uint_l>();
    return r;
}

/// x0 + r (x1 - x0); 1 ext product.
inline FpExtL gkr_fold(FpExtL x0, FpExtL x1, FpExt r) { return x0 + (x1 - x0) * r; }
inline FpExtL gkr_fold(FpL x0, FpL x1, FpExt r) { return x0 + r * (x1 - x0); }

/// Evaluates pair y of an unfolded layer of nodes (p, q): nodes 4 y and 4 y + 2 are (p0, q0), the others
/// (p1, q1). 8 ext products (2 of them cheap with base-field numerators).
template <typename S>
inline GkrSumL gkr_first_pair(GkrSumL sum, device const typename S::P* p, device const typename S::Q* q, ulong pairs,
                              FpExt lambda, FpExtL weight, bool at_one, index_l y) {
    GkrPack<typename S::N, 4> n = S::template p<4>(p, 4 * pairs, y);
    GkrPack<FpExtL, 4> d = S::template q<4>(q, 4 * pairs, y);
    GkrSumL u = gkr_product(d.v[0] * lambda + n.v[0], d.v[2] * lambda + n.v[2], d.v[1], d.v[3], at_one);
    GkrSumL v = gkr_product(d.v[0], d.v[2], n.v[1], n.v[3], at_one);
    return gkr_accumulate(sum, weight, u, v);
}

/// Folds nodes 8 y .. 8 y + 7 of an unfolded layer by the first challenge into pair y of the four columns
/// a, b, c, d of length 2 pairs, and evaluates it. 16 ext products.
template <typename S>
inline GkrSumL gkr_first_fold_pair(GkrSumL sum, device const typename S::P* p, device const typename S::Q* q, device Fp* out,
                                   ulong pairs, FpExt lambda, FpExt r, FpExtL weight, bool at_one, index_l y) {
    ulong len = 2 * pairs;
    GkrPack<FpExtL, 8> x = S::template q<8>(q, 4 * len, y);
    FpExtL d0 = gkr_fold(x.v[0], x.v[2], r), d1 = gkr_fold(x.v[4], x.v[6], r);
    FpExtL b0 = gkr_fold(x.v[1], x.v[3], r), b1 = gkr_fold(x.v[5], x.v[7], r);
    GkrPack<typename S::N, 8> n = S::template p<8>(p, 4 * len, y);
    FpExtL c0 = gkr_fold(n.v[1], n.v[3], r), c1 = gkr_fold(n.v[5], n.v[7], r);
    FpExtL a0 = gkr_fold(n.v[0], n.v[2], r) + d0 * lambda, a1 = gkr_fold(n.v[4], n.v[6], r) + d1 * lambda;
    gkr_store2(out, len, y, a0, a1);
    gkr_store2(out + EXT_DEGREE * len, len, y, b0, b1);
    gkr_store2(out + 2 * EXT_DEGREE * len, len, y, c0, c1);
    gkr_store2(out + 3 * EXT_DEGREE * len, len, y, d0, d1);
    return gkr_accumulate(sum, weight, gkr_product(a0, a1, b0, b1, at_one), gkr_product(c0, c1, d0, d1, at_one));
}

/// Folds entries 4 y .. 4 y + 3 of two columns of length `2 len` into entries 2 y, 2 y + 1 of columns of
/// length `len`, and gives their product. 6 ext products.
inline GkrSumL gkr_fold_product(device const Fp* in, device Fp* out, ulong len, FpExt r, bool at_one, index_l y) {
    GkrPack<FpExtL, 4> x = gkr_load_planes<4>(in, 2 * len, y);
    FpExtL x0 = gkr_fold(x.v[0], x.v[1], r), x1 = gkr_fold(x.v[2], x.v[3], r);
    gkr_store2(out, len, y, x0, x1);
    GkrPack<FpExtL, 4> z = gkr_load_planes<4>(in + 2 * EXT_DEGREE * len, 2 * len, y);
    FpExtL y0 = gkr_fold(z.v[0], z.v[1], r), y1 = gkr_fold(z.v[2], z.v[3], r);
    gkr_store2(out + EXT_DEGREE * len, len, y, y0, y1);
    return gkr_product(x0, x1, y0, y1, at_one);
}

// Nodes of padding are 0 / c: there a = lambda c, b = c, c = 0 and d = c, whatever X is, and a pair adds lambda c^2 times its weight.

/// What a thread of a threadgroup adds whose `chunk` pairs are all padding; `eq` are the weights of the first of them and on.
inline FpExtL gkr_padding_sum(device const FpExt* eq, constant GkrRoundParams& params, FpExt lambda, tid_l tid, uint tpg) {
    FpExtL sum = fpext_zero<uint_l>();
    for (uint i0 = 0; i0 < params.chunk; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, params.chunk) { sum = sum + lane_load(eq, i); }
    }
    return sum * (lambda * fpext_square(params.padding));
}
/// Writes the `chunk` pairs from `first` on of the columns a, b, c, d of length 2 pairs, if anybody reads them.
inline void gkr_store_padding(device Fp* out, constant GkrRoundParams& params, FpExt lambda, ulong first, tid_l tid, uint tpg) {
    if (params.stores == 0u) return;
    ulong len = 2 * params.pairs;
    FpExtL zero = fpext_zero<uint_l>(), a = fpext_lanes(lambda * params.padding), d = fpext_lanes(params.padding);
    for (uint i0 = 0; i0 < params.chunk; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, params.chunk) {
            index_l y = i + first;
            gkr_store2(out, len, y, a, a);
            gkr_store2(out + EXT_DEGREE * len, len, y, d, d);
            gkr_store2(out + 2 * EXT_DEGREE * len, len, y, zero, zero);
            gkr_store2(out + 3 * EXT_DEGREE * len, len, y, d, d);
        }
    }
}

/// Where a threadgroup's pairs start in the low eq table.
inline ulong gkr_low_base(constant GkrRoundParams& params, ulong first) {
    ulong inside = params.split != 0u ? first & ((1ul << params.low_vars) - 1ul) : first;
    return ulong(params.eq_low) + inside;
}

/// True for 0: then the claim of a round with this coordinate does not determine its polynomial at 1.
inline bool gkr_is_zero(FpExt x) {
    uint bits = 0u;
    MSL_UNROLL for (uint k = 0; k < EXT_DEGREE; k++) bits |= x.c[k].v;
    return bits == 0u;
}
