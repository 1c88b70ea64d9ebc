#pragma once
// Long inner products of base and extension elements with one reduction at the end.
#include "../field/fp_ext.h"

typedef FpAccOf<uint_l>::T FpAcc;

#if LANE_WIDTH > 1
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
inline FpAcc fp_acc_zero() { return 0ul; }
/// acc + a * b for b uniform over lanes.
inline FpAcc fp_acc_mad_uniform(FpAcc acc, uint a, uint b) { return acc + ulong(a) * ulong(b); }
#endif

/// An accumulator for each coefficient: an inner product with values in the extension.
struct FpExtAcc {
    FpAcc c[EXT_DEGREE];
};
inline FpExtAcc fpext_acc_zero() {
    FpExtAcc r;
    for (uint k = 0; k < EXT_DEGREE; k++) r.c[k] = fp_acc_zero();
    return r;
}
/// acc + x w, w uniform over lanes: a wide product for each coefficient. Fold after every second one.
inline FpExtAcc fpext_acc_mad(FpExtAcc acc, FpL x, FpExt w) {
    for (uint k = 0; k < EXT_DEGREE; k++) acc.c[k] = fp_acc_mad_uniform(acc.c[k], x.v, w.c[k].v);
    return acc;
}
/// acc + x w + y v, acc folded: two wide products for each coefficient. Two columns at a time: their loads overlap, and there is no branch for the fold.
inline FpExtAcc fpext_acc_mad2(FpExtAcc acc, FpL x, FpExt w, FpL y, FpExt v) {
    return fpext_acc_mad(fpext_acc_mad(acc, x, w), y, v);
}
inline FpExtAcc fpext_acc_fold(FpExtAcc acc) {
    for (uint k = 0; k < EXT_DEGREE; k++) acc.c[k] = fp_acc_fold(acc.c[k]);
    return acc;
}
/// The value, after at most two products since the last fold.
inline FpExtL fpext_acc_reduce(FpExtAcc acc) {
    FpExtL r;
    MSL_UNROLL for (uint k = 0; k < EXT_DEGREE; k++) r.c[k] = FpL{fp_acc_reduce(acc.c[k])};
    return r;
}
