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
/// Four terms on top of a multiple of four.
inline ConstraintDot constraint_dot_four(ConstraintDot d, FpL x0, FpL x1, FpL x2, FpL x3, FpExt w0, FpExt w1, FpExt w2, FpExt w3) {
    for (uint k = 0; k < 4u; k++) {
        FpAccOf<uint_l>::T acc = fp_acc_mad(fp_acc_mul(x0.v, fp_lanes(w0.c[k]).v), x1.v, fp_lanes(w1.c[k]).v);
        acc = fp_acc_mad(fp_acc_mad(acc, x2.v, fp_lanes(w2.c[k]).v), x3.v, fp_lanes(w3.c[k]).v);
        d.sum.c[k] = d.sum.c[k] + FpL{fp_acc_reduce(acc)};
    }
    return d;
}
inline FpExtL constraint_dot_value(ConstraintDot d) {
    if (d.terms != 0u) {
        for (uint k = 0; k < 4u; k++) d.sum.c[k] = d.sum.c[k] + FpL{fp_acc_reduce(d.acc[k])};
    }
    return d.sum;
}

/// The weighted sum of rows row .. row + n and, if `rotated`, of the rows one ahead.
inline void constraint_dot_rows(ConstraintReader r, uint_l row, uint n, bool rotated, device const FpExt* weights,
                                thread ConstraintDot& here, thread ConstraintDot& next) {
    FpL x = constraint_read(r, row);
    for (uint z = 0; z < n; z++) {
        FpExt w = weights[z];
        here = constraint_dot_add(here, x, w);
        if (rotated || z + 1u < n) x = constraint_read(r, row + (z + 1u));
        if (rotated) next = constraint_dot_add(next, x, w);
    }
}
#if LANE_WIDTH == 1
/// Whether the n rows of a fold are neighbours in memory that loads of 16 bytes reach: columns begin at a multiple of four cells
/// but for those of tiny traces.
inline bool constraint_reads_quads(ConstraintReader r, ulong first, uint n) {
    return r.kind == CONSTRAINT_COLUMN && (r.next | r.shift) == 0u && n >= 4u && r.mask >= n - 1u && (first & 3ul) == 0ul;
}
/// The weighted sum of the n rows after `row`, four rows a load, where `r` reads one row ahead.
inline ConstraintDot constraint_dot_ahead(ConstraintReader r, uint row, uint n, device const FpExt* weights) {
    ConstraintDot dot = constraint_dot();
    device const uint4* quads = (device const uint4*)(r.cells + (row & r.mask));
    uint4 v = quads[0];
    for (uint z = 0; z < n; z += 4u) {
        uint4 after = v;
        if (z + 4u < n) after = quads[(z >> 2) + 1u];
        else after.x = constraint_read(r, row + n - 1u).v;
        dot = constraint_dot_four(dot, Fp{v.y}, Fp{v.z}, Fp{v.w}, Fp{after.x}, weights[z], weights[z + 1u], weights[z + 2u], weights[z + 3u]);
        v = after;
    }
    return dot;
}
/// What `constraint_dot_rows` gives, four rows a load: one load in place of four, which lie n words from those of the next thread.
inline void constraint_dot_quads(ConstraintReader r, uint row, uint n, bool rotated, device const FpExt* weights,
                                 thread ConstraintDot& here, thread ConstraintDot& next) {
    device const uint4* quads = (device const uint4*)(r.cells + (row & r.mask));
    uint4 v = quads[0];
    for (uint z = 0; z < n; z += 4u) {
        bool last = z + 4u >= n;
        uint4 after = v;
        if (!last) after = quads[(z >> 2) + 1u];
        else if (rotated) after.x = constraint_read(r, row + n).v;
        FpExt w0 = weights[z], w1 = weights[z + 1u], w2 = weights[z + 2u], w3 = weights[z + 3u];
        here = constraint_dot_four(here, Fp{v.x}, Fp{v.y}, Fp{v.z}, Fp{v.w}, w0, w1, w2, w3);
        if (rotated) next = constraint_dot_four(next, Fp{v.y}, Fp{v.z}, Fp{v.w}, Fp{after.x}, w0, w1, w2, w3);
        v = after;
    }
}
#else
constant constexpr uint CONSTRAINT_RUN = 16u;  // rows of each lane that are read at once

/// Whether the n rows of a fold are whole runs in memory.
inline bool constraint_reads_runs(ConstraintReader r, uint n) {
    return n >= CONSTRAINT_RUN && r.mask >= n - 1u && constraint_has_runs<CONSTRAINT_RUN>(r);
}
/// The weighted sum of the n rows after each lane's `row`, by runs.
inline ConstraintDot constraint_dot_ahead(ConstraintReader r, uint_l row, uint n, device const FpExt* weights) {
    ConstraintDot dot = constraint_dot();
    for (uint z = 0; z < n; z += CONSTRAINT_RUN) {
        FpRunT<uint_l, CONSTRAINT_RUN> run = constraint_read_run<CONSTRAINT_RUN>(r, (row & r.mask) + z);
        r.next = 1u;
        FpL after = constraint_read(r, row + (z + CONSTRAINT_RUN - 1u));
        MSL_UNROLL for (uint k = 0; k < CONSTRAINT_RUN; k += 4u) {
            device const FpExt* w = weights + z + k;
            FpL last = k + 4u < CONSTRAINT_RUN ? run.c[(k + 4u) % CONSTRAINT_RUN] : after;
            dot = constraint_dot_four(dot, run.c[k + 1u], run.c[k + 2u], run.c[k + 3u], last, w[0], w[1], w[2], w[3]);
        }
    }
    return dot;
}
/// What `constraint_dot_rows` gives, by runs.
inline void constraint_dot_runs(ConstraintReader r, uint_l row, uint n, bool rotated, device const FpExt* weights,
                                thread ConstraintDot& here, thread ConstraintDot& next) {
    for (uint z = 0; z < n; z += CONSTRAINT_RUN) {
        FpRunT<uint_l, CONSTRAINT_RUN> run = constraint_read_run<CONSTRAINT_RUN>(r, (row & r.mask) + z);
        MSL_UNROLL for (uint k = 0; k < CONSTRAINT_RUN; k += 4u) {
            device const FpExt* w = weights + z + k;
            here = constraint_dot_four(here, run.c[k], run.c[k + 1u], run.c[k + 2u], run.c[k + 3u], w[0], w[1], w[2], w[3]);
        }
    }
    if (rotated) next = constraint_dot_ahead(r, row, n, weights);
}
#endif

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
