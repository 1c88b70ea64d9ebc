#pragma once
// The extension F_p[x] / (x^d - W) of degree d: the same layout as p3's `BinomialExtensionField<BabyBear, d>`. W is 11 for d = 4 and 2 for d = 5.
// In memory an element is d consecutive words (four of them 16-byte aligned); in lanes it is d lane vectors.
#include "baby_bear.h"

// The degree that kernels are compiled for. Tests give another.
#ifndef EXT_DEGREE
#define EXT_DEGREE 4u
#endif

// One alignas: of two, g++ takes the last.
template <typename U>
struct alignas(sizeof(U) < 16 && EXT_DEGREE % 4u == 0u ? 16 : sizeof(U)) FpExtT {
    FpT<U> c[EXT_DEGREE];
};
typedef FpExtT<uint> FpExt;
typedef FpExtT<uint_l> FpExtL;

/// Coefficient k is words[first + k stride]; I is uint or ulong.
template <typename P, typename I> inline FpExt fpext_from_words(P words, I first, I stride) {
    FpExt r;
    MSL_UNROLL for (uint k = 0; k < EXT_DEGREE; k++) r.c[k] = words[k * stride + first];
    return r;
}
template <typename U> inline FpExtT<U> fpext_from_base(FpT<U> a) {
    FpExtT<U> r;
    r.c[0] = a;
    MSL_UNROLL for (uint k = 1; k < EXT_DEGREE; k++) r.c[k] = fp_zero<U>();
    return r;
}
template <typename U> inline FpExtT<U> fpext_zero() { return fpext_from_base(fp_zero<U>()); }
template <typename U> inline FpExtT<U> fpext_one() { return fpext_from_base(fp_one<U>()); }

template <typename U> inline FpExtT<U> operator-(FpExtT<U> a, FpExtT<U> b) {
    FpExtT<U> r;
    MSL_UNROLL for (uint k = 0; k < EXT_DEGREE; k++) r.c[k] = a.c[k] - b.c[k];
    return r;
}
template <typename U> inline FpExtT<U> operator-(FpExtT<U> a) {
    FpExtT<U> r;
    MSL_UNROLL for (uint k = 0; k < EXT_DEGREE; k++) r.c[k] = -a.c[k];
    return r;
}
template <typename U> inline FpExtT<U> operator+(FpExtT<U> a, FpT<U> b) {
    a.c[0] = a.c[0] + b;
    return a;
}
template <typename U> inline FpExtT<U> operator+(FpT<U> a, FpExtT<U> b) { return b + a; }
template <typename U> inline FpExtT<U> operator-(FpExtT<U> a, FpT<U> b) {
    a.c[0] = a.c[0] - b;
    return a;
}
template <typename U> inline FpExtT<U> operator-(FpT<U> a, FpExtT<U> b) {
    FpExtT<U> r;
    r.c[0] = a - b.c[0];
    MSL_UNROLL for (uint k = 1; k < EXT_DEGREE; k++) r.c[k] = -b.c[k];
    return r;
}
template <typename U> inline FpExtT<U> operator*(FpT<U> a, FpExtT<U> b) { return b * a; }

#if EXT_DEGREE == 4u
template <typename U> inline FpExtT<U> fpext_make(FpT<U> a, FpT<U> b, FpT<U> c, FpT<U> d) {
    FpExtT<U> r;
    r.c[0] = a;
    r.c[1] = b;
    r.c[2] = c;
    r.c[3] = d;
    return r;
}
// Written out: of loops, clang makes code with other registers.
template <typename U> inline FpExtT<U> operator+(FpExtT<U> a, FpExtT<U> b) {
    return fpext_make(a.c[0] + b.c[0], a.c[1] + b.c[1], a.c[2] + b.c[2], a.c[3] + b.c[3]);
}
/// 4 field products.
template <typename U> inline FpExtT<U> operator*(FpExtT<U> a, FpT<U> b) {
    return fpext_make(a.c[0] * b, a.c[1] * b, a.c[2] * b, a.c[3] * b);
}

/// a * 11.
#if LANE_WIDTH > 1 || MSL_PTX
template <typename U> inline FpT<U> fp_mul_11(FpT<U> a) { return a * FpT<U>{(U)FP_W11}; }
#else
// Five additions: on Apple GPUs a product is 20 cycles of the multiplier, which is what extension products wait for, and
// additions run beside it.
template <typename U> inline FpT<U> fp_mul_11(FpT<U> a) { return a + fp_double(a + fp_double(fp_double(a))); }
#endif

/// 16 wide products, 4 reductions, 3 products by W = 11 (about 9.5 field products).
template <typename U> MSL_LARGE inline FpExtT<U> operator*(FpExtT<U> a, FpExtT<U> b) {
    FpT<U> w1 = fp_mul_11(b.c[1]), w2 = fp_mul_11(b.c[2]), w3 = fp_mul_11(b.c[3]);
    typedef typename FpAccOf<U>::T Acc;
    Acc t0 = fp_acc_mad(fp_acc_mad(fp_acc_mad(fp_acc_mul(a.c[0].v, b.c[0].v), a.c[1].v, w3.v), a.c[2].v, w2.v), a.c[3].v, w1.v);
    Acc t1 = fp_acc_mad(fp_acc_mad(fp_acc_mad(fp_acc_mul(a.c[0].v, b.c[1].v), a.c[1].v, b.c[0].v), a.c[2].v, w3.v), a.c[3].v, w2.v);
    Acc t2 = fp_acc_mad(fp_acc_mad(fp_acc_mad(fp_acc_mul(a.c[0].v, b.c[2].v), a.c[1].v, b.c[1].v), a.c[2].v, b.c[0].v), a.c[3].v, w3.v);
    Acc t3 = fp_acc_mad(fp_acc_mad(fp_acc_mad(fp_acc_mul(a.c[0].v, b.c[3].v), a.c[1].v, b.c[2].v), a.c[2].v, b.c[1].v), a.c[3].v, b.c[0].v);
    return fpext_make(FpT<U>{fp_acc_reduce(t0)}, FpT<U>{fp_acc_reduce(t1)}, FpT<U>{fp_acc_reduce(t2)}, FpT<U>{fp_acc_reduce(t3)});
}
/// 10 wide products, 4 reductions, 2 products by W, additions.
template <typename U> MSL_LARGE inline FpExtT<U> fpext_square(FpExtT<U> a) {
    FpT<U> d0 = fp_double(a.c[0]), d1 = fp_double(a.c[1]);
    FpT<U> w2 = fp_mul_11(a.c[2]), w3 = fp_mul_11(a.c[3]);
    typedef typename FpAccOf<U>::T Acc;
    Acc t0 = fp_acc_mad(fp_acc_mad(fp_acc_mul(a.c[0].v, a.c[0].v), d1.v, w3.v), a.c[2].v, w2.v);
    Acc t1 = fp_acc_mad(fp_acc_mul(d0.v, a.c[1].v), fp_double(a.c[2]).v, w3.v);
    Acc t2 = fp_acc_mad(fp_acc_mad(fp_acc_mul(d0.v, a.c[2].v), a.c[1].v, a.c[1].v), a.c[3].v, w3.v);
    Acc t3 = fp_acc_mad(fp_acc_mul(d0.v, a.c[3].v), d1.v, a.c[2].v);
    return fpext_make(FpT<U>{fp_acc_reduce(t0)}, FpT<U>{fp_acc_reduce(t1)}, FpT<U>{fp_acc_reduce(t2)}, FpT<U>{fp_acc_reduce(t3)});
}
/// a^-1 (0 for 0), by the tower over y = x^2, y^2 = 11: about 60 field products.
template <typename U> inline FpExtT<U> fpext_inv(FpExtT<U> a) {
    // a = A + x B with A = a0 + a2 y, B = a1 + a3 y; N = A^2 - y B^2 = n0 + n1 y.
    FpT<U> n0 = fp_dot2(a.c[0], a.c[0], fp_mul_11(a.c[2]), a.c[2]) - fp_mul_11(fp_double(a.c[1] * a.c[3]));
    FpT<U> n1 = fp_double(a.c[0] * a.c[2]) - fp_dot2(a.c[1], a.c[1], fp_mul_11(a.c[3]), a.c[3]);
    FpT<U> d = fp_inv(n0 * n0 - fp_mul_11(n1 * n1));
    FpT<U> i0 = n0 * d, i1 = -(n1 * d);  // N^-1 = i0 + i1 y
    FpT<U> wi1 = fp_mul_11(i1);
    FpT<U> r0 = fp_dot2(a.c[0], i0, a.c[2], wi1), r2 = fp_dot2(a.c[0], i1, a.c[2], i0);
    FpT<U> r1 = -fp_dot2(a.c[1], i0, a.c[3], wi1), r3 = -fp_dot2(a.c[1], i1, a.c[3], i0);
    return fpext_make(r0, r1, r2, r3);
}
#elif EXT_DEGREE == 5u
template <typename U> inline FpExtT<U> operator+(FpExtT<U> a, FpExtT<U> b) {
    FpExtT<U> r;
    MSL_UNROLL for (uint k = 0; k < 5u; k++) r.c[k] = a.c[k] + b.c[k];
    return r;
}
/// 5 field products.
template <typename U> inline FpExtT<U> operator*(FpExtT<U> a, FpT<U> b) {
    FpExtT<U> r;
    MSL_UNROLL for (uint k = 0; k < 5u; k++) r.c[k] = a.c[k] * b;
    return r;
}
/// 25 wide products, 5 folds, 5 reductions, 5 additions: the fifth product has room on top of a folded sum.
template <typename U> MSL_LARGE inline FpExtT<U> operator*(FpExtT<U> a, FpExtT<U> b) {
    FpExtT<U> r, twice = b + b;
    MSL_UNROLL for (uint k = 0; k < 5u; k++) {
        typename FpAccOf<U>::T t = fp_acc_mul(a.c[0].v, b.c[k].v);
        MSL_UNROLL for (uint i = 1; i < 5u; i++) {
            if (i == 4u) t = fp_acc_fold(t);
            t = fp_acc_mad(t, a.c[i].v, i <= k ? b.c[k - i].v : twice.c[k + 5u - i].v);
        }
        r.c[k] = FpT<U>{fp_acc_reduce(t)};
    }
    return r;
}
/// a * b + c * d + e * f with one reduction.
template <typename U> inline FpT<U> fp_dot3(FpT<U> a, FpT<U> b, FpT<U> c, FpT<U> d, FpT<U> e, FpT<U> f) {
    return FpT<U>{fp_acc_reduce(fp_acc_mad(fp_acc_mad(fp_acc_mul(a.v, b.v), c.v, d.v), e.v, f.v))};
}
/// 15 wide products, 5 reductions, 5 additions.
template <typename U> MSL_LARGE inline FpExtT<U> fpext_square(FpExtT<U> a) {
    FpExtT<U> r, d = a + a;
    r.c[0] = fp_dot3(a.c[0], a.c[0], d.c[1], d.c[4], d.c[2], d.c[3]);
    r.c[1] = fp_dot3(d.c[0], a.c[1], d.c[2], d.c[4], d.c[3], a.c[3]);
    r.c[2] = fp_dot3(d.c[0], a.c[2], a.c[1], a.c[1], d.c[3], d.c[4]);
    r.c[3] = fp_dot3(d.c[0], a.c[3], d.c[1], a.c[2], d.c[4], a.c[4]);
    r.c[4] = fp_dot3(d.c[0], a.c[4], d.c[1], a.c[3], a.c[2], a.c[2]);
    return r;
}
/// The conjugate of a that takes x to z x; z is a fifth root of unity.
template <typename U> inline FpExtT<U> fpext_conjugate(FpExtT<U> a, FpT<U> z) {
    FpT<U> power = z;
    for (uint k = 1; k < 5u; k++) {
        a.c[k] = a.c[k] * power;
        power = power * z;
    }
    return a;
}
/// a^-1 (0 for 0), the product of the other conjugates over the norm: about 150 field products.
template <typename U> inline FpExtT<U> fpext_inv(FpExtT<U> a) {
    FpT<U> z = fp_pow(fp_double(fp_one<U>()), (FP_P - 1u) / 5u);  // x^p = z x
    FpExtT<U> first = fpext_conjugate(a, z);
    FpExtT<U> two = first * fpext_conjugate(first, z);
    FpExtT<U> four = two * fpext_conjugate(two, z * z);
    return four * fp_inv((a * four).c[0]);
}
#else
#error "kernels have no arithmetic of this degree"
#endif

#if LANE_WIDTH > 1
inline FpExtL fpext_lanes(FpExt a) {
    FpExtL r;
    MSL_UNROLL for (uint k = 0; k < EXT_DEGREE; k++) r.c[k] = fp_lanes(a.c[k]);
    return r;
}
inline FpExtL fpext_lanes(FpExtL a) { return a; }
// Lane and uniform operands mixed.
inline FpExtL operator+(FpExtL a, FpExt b) { return a + fpext_lanes(b); }
inline FpExtL operator+(FpExt a, FpExtL b) { return fpext_lanes(a) + b; }
inline FpExtL operator-(FpExtL a, FpExt b) { return a - fpext_lanes(b); }
inline FpExtL operator-(FpExt a, FpExtL b) { return fpext_lanes(a) - b; }
inline FpExtL operator+(FpExtL a, Fp b) { return a + fp_lanes(b); }
inline FpExtL operator+(FpExt a, FpL b) { return fpext_lanes(a) + b; }
inline FpExtL operator+(FpL a, FpExt b) { return a + fpext_lanes(b); }
inline FpExtL operator-(FpExtL a, Fp b) { return a - fp_lanes(b); }
inline FpExtL operator-(FpExt a, FpL b) { return fpext_lanes(a) - b; }
inline FpExtL operator-(FpL a, FpExt b) { return a - fpext_lanes(b); }
inline FpExtL operator*(FpExtL a, Fp b) { return a * fp_lanes(b); }
inline FpExtL operator*(Fp a, FpExtL b) { return b * fp_lanes(a); }
inline FpExtL operator*(FpExt a, FpL b) { return fpext_lanes(a) * b; }
inline FpExtL operator*(FpL a, FpExt b) { return fpext_lanes(b) * a; }
#if EXT_DEGREE == 4u
/// The uniform operand's products by W are scalar work.
inline FpExtL operator*(FpExtL a, FpExt b) {
    FpL w1 = fp_lanes(fp_mul_11(b.c[1])), w2 = fp_lanes(fp_mul_11(b.c[2])), w3 = fp_lanes(fp_mul_11(b.c[3]));
    FpL b0 = fp_lanes(b.c[0]), b1 = fp_lanes(b.c[1]), b2 = fp_lanes(b.c[2]), b3 = fp_lanes(b.c[3]);
    FpAccL t0 = fp_acc_mad(fp_acc_mad(fp_acc_mad(fp_acc_mul(a.c[0].v, b0.v), a.c[1].v, w3.v), a.c[2].v, w2.v), a.c[3].v, w1.v);
    FpAccL t1 = fp_acc_mad(fp_acc_mad(fp_acc_mad(fp_acc_mul(a.c[0].v, b1.v), a.c[1].v, b0.v), a.c[2].v, w3.v), a.c[3].v, w2.v);
    FpAccL t2 = fp_acc_mad(fp_acc_mad(fp_acc_mad(fp_acc_mul(a.c[0].v, b2.v), a.c[1].v, b1.v), a.c[2].v, b0.v), a.c[3].v, w3.v);
    FpAccL t3 = fp_acc_mad(fp_acc_mad(fp_acc_mad(fp_acc_mul(a.c[0].v, b3.v), a.c[1].v, b2.v), a.c[2].v, b1.v), a.c[3].v, b0.v);
    return fpext_make(FpL{fp_acc_reduce(t0)}, FpL{fp_acc_reduce(t1)}, FpL{fp_acc_reduce(t2)}, FpL{fp_acc_reduce(t3)});
}
#else
inline FpExtL operator*(FpExtL a, FpExt b) { return a * fpext_lanes(b); }
#endif
inline FpExtL operator*(FpExt a, FpExtL b) { return b * a; }
#else
/// Broadcast to all lanes.
inline FpExtL fpext_lanes(FpExt a) { return a; }
#endif

// ---- memory: consecutive words of an element <-> lane vectors --------------------------------------
#if LANE_WIDTH > 1
template <> struct lane_type<FpExt> { typedef FpExtL type; };
#endif
/// The value of the first lane (of this thread on GPUs).
inline FpExt fpext_lane_first(FpExtL x) {
    FpExt r;
    MSL_UNROLL for (uint k = 0; k < EXT_DEGREE; k++) r.c[k] = fp_lane_first(x.c[k]);
    return r;
}

/// Sum over the simdgroup, in every lane; `width` = threads_per_simdgroup.
template <typename U> inline FpExtT<U> fpext_simd_sum(FpExtT<U> x, uint width) {
    for (uint k = 0; k < EXT_DEGREE; k++) x.c[k] = fp_simd_sum(x.c[k], width);
    return x;
}
