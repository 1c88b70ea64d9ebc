#pragma once
// Long inner products of base and extension elements with one reduction at the end.
//
// `FpAcc` is the 64-bit accumulator of `baby_bear.h`. It has room for two products on top of a folded
// value: folded is below P 2^32, a product below P 2^31, and folding needs a value below 2 P 2^32.
#include "../field/fp_ext.h"

typedef FpAccOf<uint_l>::T FpAcc;

#if LANE_WIDTH > 1
inline msl_wide fp_half_fold(msl_wide x) {
    uint_l v = uint_l::of((uint_l::raw)x), p = uint_l::of((uint_l::raw)(msl_wide{} + ((ulong)FP_P << 32)));
    return (msl_wide)min(v, v - p).v;
}
inline FpAcc fp_acc_fold(FpAcc a) {
    a.e = fp_half_fold(a.e);
    a.o = fp_half_fold(a.o);
    return a;
}
inline FpAcc fp_acc_zero() {
    FpAcc r;
    r.e = msl_wide{};
    r.o = msl_wide{};
    return r;
}
inline FpAcc fp_acc_mad_uniform(FpAcc acc, uint_l a, uint b) {
    msl_wide x = (msl_wide)a.v, y = (msl_wide)uint_l(b).v;
    acc.e += msl_mul_even(x, y);
    acc.o += msl_mul_even(msl_odd_halves(x), y);
    return acc;
}
#else
/// Subtracts P 2^32 if that leaves the value non-negative: 2 additions.
inline FpAcc fp_acc_fold(FpAcc a) {
    uint hi = uint(a >> 32);
    hi = min(hi, hi - FP_P);
    return (ulong(hi) << 32) | ulong(uint(a));
}
inline FpAcc fp_acc_zero() { return 0ul; }
/// acc + a * b for b uniform over lanes.
inline FpAcc fp_acc_mad_uniform(FpAcc acc, uint a, uint b) { return acc + ulong(a) * ulong(b); }
#endif

/// Four accumulators: an inner product with values in the extension.
struct FpExtAcc {
    FpAcc c[4];
};
inline FpExtAcc fpext_acc_zero() {
    FpExtAcc r;
    for (uint k = 0; k < 4u; k++) r.c[k] = fp_acc_zero();
    return r;
}
/// acc + x w, w uniform over lanes: 4 wide products. Fold after every second one.
inline FpExtAcc fpext_acc_mad(FpExtAcc acc, FpL x, FpExt w) {
    for (uint k = 0; k < 4u; k++) acc.c[k] = fp_acc_mad_uniform(acc.c[k], x.v, w.c[k].v);
    return acc;
}
/// acc + x w + y v, acc folded: 8 wide products. Two columns at a time: their loads overlap, and there is no branch for the fold.
inline FpExtAcc fpext_acc_mad2(FpExtAcc acc, FpL x, FpExt w, FpL y, FpExt v) {
    return fpext_acc_mad(fpext_acc_mad(acc, x, w), y, v);
}
inline FpExtAcc fpext_acc_fold(FpExtAcc acc) {
    for (uint k = 0; k < 4u; k++) acc.c[k] = fp_acc_fold(acc.c[k]);
    return acc;
}
/// The value, after at most two products since the last fold.
inline FpExtL fpext_acc_reduce(FpExtAcc acc) {
    return fpext_make(FpL{fp_acc_reduce(acc.c[0])}, FpL{fp_acc_reduce(acc.c[1])}, FpL{fp_acc_reduce(acc.c[2])}, FpL{fp_acc_reduce(acc.c[3])});
}
