#pragma once
// Sums of fractions: p0/q0 + p1/q1 = (p0 q1 + p1 q0) / (q0 q1).
#include "../field/lane_ops.h"
#include "pack.h"
#include "params.h"

struct GkrFracL {
    FpExtL p, q;
};

/// N is FpL (base-field numerators) or FpExtL.
template <typename N> inline GkrFracL gkr_add(N p0, FpExtL q0, N p1, FpExtL q1) {
    GkrFracL r;
    r.p = q1 * p0 + q0 * p1;
    r.q = q0 * q1;
    return r;
}

/// Nodes 4 y .. 4 y + 3 of a layer of `4 quads` nodes -> the two layers above it, each the planes of p,
/// then of q.
template <typename S>
inline void gkr_build_quad(device const typename S::P* p, device const typename S::Q* q, device Fp* parents,
                           device Fp* grandparents, ulong quads, index_l y) {
    GkrPack<typename S::N, 4> n = S::template p<4>(p, 4 * quads, y);
    GkrPack<FpExtL, 4> d = S::template q<4>(q, 4 * quads, y);
    GkrFracL a = gkr_add(n.v[0], d.v[0], n.v[1], d.v[1]);
    GkrFracL b = gkr_add(n.v[2], d.v[2], n.v[3], d.v[3]);
    gkr_store2(parents, 2 * quads, y, a.p, b.p);
    gkr_store2(parents + 2 * EXT_DEGREE * quads, 2 * quads, y, a.q, b.q);
    GkrFracL c = gkr_add(a.p, a.q, b.p, b.q);
    gkr_store(grandparents, quads, y, c.p);
    gkr_store(grandparents + EXT_DEGREE * quads, quads, y, c.q);
}
/// The same where all four nodes are padding, 0 / c: nothing is read.
inline void gkr_build_padding(FpExt c, device Fp* parents, device Fp* grandparents, ulong quads, index_l y) {
    FpExtL zero = fpext_zero<uint_l>();
    FpExt of_parent = fpext_square(c);
    FpExtL q = fpext_lanes(of_parent);
    gkr_store2(parents, 2 * quads, y, zero, zero);
    gkr_store2(parents + 2 * EXT_DEGREE * quads, 2 * quads, y, q, q);
    gkr_store(grandparents, quads, y, zero);
    gkr_store(grandparents + EXT_DEGREE * quads, quads, y, fpext_lanes(fpext_square(of_parent)));
}
