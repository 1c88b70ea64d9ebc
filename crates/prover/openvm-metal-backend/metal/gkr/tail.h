#pragma once
// The last rounds of a layer, by one threadgroup. A table is kept as entries (v, d) for two neighbouring rows v and v + d, in
// planes: coefficient c of column k of entry y is word (4 k + c) n + y of the v, and as much behind them of the d.
//
// A pair of a round (two neighbouring entries) is four jobs: products a b and c d, each at 0 and of leading coefficients. A job
// folds what it multiplies, which are entries of the next table: 4 ext products one after the other, however few pairs there are.
#include "transcript.h"

/// Two neighbouring entries of a column.
struct GkrEntries {
    FpExt v0, d0, v1, d1;
};
/// Rows 4 y .. 4 y + 3 of a column of `4 n` rows in planes.
inline GkrEntries gkr_entries_of_rows(device const Fp* column, ulong n, ulong y) {
    GkrPack<FpExt, 4> x = gkr_load_planes<4>(column, 4ul * n, index_l(y));
    GkrEntries e;
    e.v0 = x.v[0];
    e.d0 = x.v[1] - x.v[0];
    e.v1 = x.v[2];
    e.d1 = x.v[3] - x.v[2];
    return e;
}
/// Entries 2 y and 2 y + 1 of a column of `2 n` entries; `column` is the first of its planes.
template <typename P> inline GkrEntries gkr_entries(P column, uint n, uint y) {
    GkrEntries e;
    for (uint c = 0; c < 4u; c++) {
        uint i = 2u * (c * n + y);
        e.v0.c[c] = column[i];
        e.v1.c[c] = column[i + 1u];
        e.d0.c[c] = column[i + 32u * n];
        e.d1.c[c] = column[i + 32u * n + 1u];
    }
    return e;
}
/// Folds by r: v of the entry that the two become, or its d. 1 ext product.
inline FpExt gkr_fold_entries(GkrEntries e, bool lead, FpExt r) {
    FpExt v, d;
    for (uint c = 0; c < 4u; c++) {
        v.c[c] = Fp{select(e.v0.c[c].v, (e.v1.c[c] - e.v0.c[c]).v, lead)};
        d.c[c] = Fp{select(e.d0.c[c].v, (e.d1.c[c] - e.d0.c[c]).v, lead)};
    }
    return v + d * r;
}
template <typename P> inline void gkr_put_entry(P column, uint n, uint y, FpExt x) {
    for (uint c = 0; c < 4u; c++) column[c * n + y] = x.c[c];
}

// Tables of up to 2^7 entries are in threadgroup memory, those of an odd logarithm first.
constant constexpr uint GKR_LOCAL_LOG = 7u;
constant constexpr uint GKR_LOCAL_EVEN = 32u << GKR_LOCAL_LOG;
constant constexpr uint GKR_LOCAL_WORDS = GKR_LOCAL_EVEN + (16u << GKR_LOCAL_LOG);

inline uint gkr_local(uint log) { return (log & 1u) != 0u ? 0u : GKR_LOCAL_EVEN; }

/// Word `i` of the claims p0, q0, p1, q1 of a layer, from the table of one entry with rows a, b, c, d; 3 ext products.
inline Fp gkr_claim_word(threadgroup const Fp* table, FpExt r, FpExt lambda, uint i) {
    uint claim = i / 4u, column = claim == 0u ? 0u : 4u - claim;
    FpExt x, v, d;
    for (uint c = 0; c < 4u; c++) {
        x.c[c] = table[12u + c];
        d.c[c] = table[28u + c];
    }
    FpExt q0 = x + d * r;
    for (uint c = 0; c < 4u; c++) {
        v.c[c] = table[4u * column + c];
        d.c[c] = table[16u + 4u * column + c];
    }
    x = v + d * r;
    Fp off = gkr_dot(gkr_product_row(lambda, i % 4u), q0);
    Fp low = Fp{select(x.c[0].v, x.c[1].v, (i & 1u) != 0u)}, high = Fp{select(x.c[2].v, x.c[3].v, (i & 1u) != 0u)};
    Fp word = Fp{select(low.v, high.v, (i & 2u) != 0u)};
    return Fp{select(word.v, (word - off).v, claim == 0u)};
}
