#pragma once
// K neighbouring elements as one element: lanes then hold K values of each thread, which a CPU
// reads as whole vectors and a GPU thread as one run of 16 K bytes.
#include "../field/fp_ext.h"

template <typename T, uint K>
struct alignas(16) alignas(T) GkrPack {
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
/// Elements 2 y and 2 y + 1 of p.
inline void gkr_store2(device FpExt* p, index_l y, FpExtL x0, FpExtL x1) {
    GkrPack<FpExtL, 2> x;
    x.v[0] = x0;
    x.v[1] = x1;
    lane_store((device GkrPack<FpExt, 2>*)p, y, x);
}
