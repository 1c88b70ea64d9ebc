#pragma once
// The fold by the first challenge: weighted sums of 2^l_skip rows, weights L_z(r_0) over the skip domain.
#include "columns.h"

/// Four accumulators of products of a base-field value by an extension weight, reduced every 4 terms.
struct ConstraintDot {
    FpAccOf<uint_l>::T acc[4];
    FpExtL sum;
    uint terms;
};
inline ConstraintDot constraint_dot() {
    ConstraintDot d;
    d.sum = fpext_zero<uint_l>();
    d.terms = 0u;
    return d;
}
inline ConstraintDot constraint_dot_add(ConstraintDot d, FpL x, FpExt w) {
    if (d.terms == 0u) {
        for (uint k = 0; k < 4u; k++) d.acc[k] = fp_acc_mul(x.v, fp_lanes(w.c[k]).v);
    } else {
        for (uint k = 0; k < 4u; k++) d.acc[k] = fp_acc_mad(d.acc[k], x.v, fp_lanes(w.c[k]).v);
    }
    d.terms += 1u;
    if (d.terms == 4u) {
        for (uint k = 0; k < 4u; k++) d.sum.c[k] = d.sum.c[k] + FpL{fp_acc_reduce(d.acc[k])};
        d.terms = 0u;
    }
    return d;
}
inline FpExtL constraint_dot_value(ConstraintDot d) {
    if (d.terms != 0u) {
        for (uint k = 0; k < 4u; k++) d.sum.c[k] = d.sum.c[k] + FpL{fp_acc_reduce(d.acc[k])};
    }
    return d.sum;
}

/// The four planes of an extension element, `stride` words apart.
inline void constraint_store_planes(device Fp* p, ulong stride, index_l i, FpExtL v) {
    lane_store(p, i, v.c[0]);
    lane_store(p + stride, i, v.c[1]);
    lane_store(p + 2u * stride, i, v.c[2]);
    lane_store(p + 3u * stride, i, v.c[3]);
}
inline FpExtL constraint_load_planes(device const Fp* p, ulong stride, index_l i) {
    return fpext_make(FpL(lane_load(p, i)), FpL(lane_load(p + stride, i)), FpL(lane_load(p + 2u * stride, i)),
                      FpL(lane_load(p + 3u * stride, i)));
}
