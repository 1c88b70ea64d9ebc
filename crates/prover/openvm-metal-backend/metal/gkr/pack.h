#pragma once
// K neighbouring elements as one element: lanes then hold K values of each thread, which a CPU
// reads as whole vectors and a GPU thread as one run of bytes.
#include "../field/fp_ext.h"

/// Neighbouring elements, aligned to their size, to 16 bytes at most; elements of five words are aligned to a word, and so are packs of them.
template <typename T, uint K>
struct alignas(sizeof(T) > 16 ? (sizeof(T) % sizeof(uint_l) == 0 ? sizeof(uint_l) : sizeof(uint)) : K * sizeof(T) < 16 ? K * sizeof(T) : 16) GkrPack {
    T v[K];
};

#if LANE_WIDTH > 1
template <typename T, uint K> struct lane_type<GkrPack<T, K>> {
    typedef GkrPack<typename lane_type<T>::type, K> type;
};
#endif

/// Elements K y .. K y + K - 1 of p.
template <uint K> inline GkrPack<FpExtL, K> gkr_load(device const FpExt* p, index_l y) {
    return lane_load((device const GkrPack<FpExt, K>*)p, y);
}
template <uint K> inline GkrPack<FpL, K> gkr_load(device const Fp* p, index_l y) {
    return lane_load((device const GkrPack<Fp, K>*)p, y);
}

// Extension elements as planes of `len` words, one for each coefficient: neighbouring threads then
// access neighbouring words, and lanes have little to transpose.
template <uint K> inline GkrPack<FpExtL, K> gkr_load_planes(device const Fp* p, ulong len, index_l y) {
    GkrPack<FpExtL, K> r;
    for (uint c = 0; c < EXT_DEGREE; c++) {
        GkrPack<FpL, K> w = gkr_load<K>(p + c * len, y);
        for (uint k = 0; k < K; k++) r.v[k].c[c] = w.v[k];
    }
    return r;
}
/// Elements 2 y and 2 y + 1 of planes.
inline void gkr_store2(device Fp* p, ulong len, index_l y, FpExtL x0, FpExtL x1) {
    for (uint c = 0; c < EXT_DEGREE; c++) {
        GkrPack<FpL, 2> w;
        w.v[0] = x0.c[c];
        w.v[1] = x1.c[c];
        lane_store((device GkrPack<Fp, 2>*)(p + c * len), y, w);
    }
}
/// Element y of planes.
inline void gkr_store(device Fp* p, ulong len, index_l y, FpExtL x) {
    for (uint c = 0; c < EXT_DEGREE; c++) lane_store(p + c * len, y, x.c[c]);
}

// Where the nodes of a layer come from, the leaves or a layer in planes: types of the numerators and
// denominators in memory, and loads of K neighbours of a layer of `len` nodes.
struct GkrLeaves {
    typedef Fp P;
    typedef FpExt Q;
    typedef FpL N;
    template <uint K> static GkrPack<FpL, K> p(device const Fp* p, ulong, index_l y) { return gkr_load<K>(p, y); }
    template <uint K> static GkrPack<FpExtL, K> q(device const FpExt* q, ulong, index_l y) { return gkr_load<K>(q, y); }
};
struct GkrPlanes {
    typedef Fp P;
    typedef Fp Q;
    typedef FpExtL N;
    template <uint K> static GkrPack<FpExtL, K> p(device const Fp* p, ulong len, index_l y) { return gkr_load_planes<K>(p, len, y); }
    template <uint K> static GkrPack<FpExtL, K> q(device const Fp* q, ulong len, index_l y) { return gkr_load_planes<K>(q, len, y); }
};
