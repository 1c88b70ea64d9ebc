// SIMD-group operations when the SIMD-group is one vector. Reductions give the uniform scalar.
#pragma once

template <class T> MSL_INL T lane_first(lane_vec<T> a) { return a.v[0]; }
MSL_INL bool lane_first(bool_l a) { return a.m[0] != 0; }
template <class T> MSL_INL lane_vec<T> simd_shuffle_xor(lane_vec<T> a, ushort m) {
    lane_vec<T> r;
    switch (m & (MSL_LANES - 1)) {
#define MSL_CASE(M) case M: for (uint k = 0; k < MSL_LANES; k++) r.v[k] = a.v[k ^ M]; return r;
        MSL_CASE(1) MSL_CASE(2)
#if MSL_LANES > 4
        MSL_CASE(4)
#endif
#if MSL_LANES > 8
        MSL_CASE(8)
#endif
#undef MSL_CASE
    }
    for (uint k = 0; k < MSL_LANES; k++) r.v[k] = a.v[(k ^ m) & (MSL_LANES - 1)];
    return r;
}
template <class T> MSL_INL lane_vec<T> simd_shuffle_down(lane_vec<T> a, ushort d) {
    lane_vec<T> r;
    for (uint k = 0; k < MSL_LANES; k++) r.v[k] = a.v[k + d < MSL_LANES ? k + d : k];
    return r;
}
template <class T> MSL_INL lane_vec<T> simd_shuffle_up(lane_vec<T> a, ushort d) {
    lane_vec<T> r;
    for (uint k = 0; k < MSL_LANES; k++) r.v[k] = a.v[k >= d ? k - d : k];
    return r;
}
template <class T> MSL_INL T simd_shuffle(lane_vec<T> a, ushort k) { return a.v[k & (MSL_LANES - 1)]; }
template <class T> MSL_INL T simd_broadcast(lane_vec<T> a, ushort k) { return a.v[k & (MSL_LANES - 1)]; }
template <class T> MSL_INL T simd_broadcast_first(lane_vec<T> a) { return a.v[0]; }
template <class T, class F> MSL_INL T msl_lane_reduce(lane_vec<T> a, F f) {
    a = f(a, simd_shuffle_xor(a, 1));
    a = f(a, simd_shuffle_xor(a, 2));
    if (MSL_LANES > 4) a = f(a, simd_shuffle_xor(a, 4));
    if (MSL_LANES > 8) a = f(a, simd_shuffle_xor(a, 8));
    return a.v[0];
}
#define MSL_RED(name, expr) \
    template <class T> MSL_INL T name(lane_vec<T> a) { \
        typedef lane_vec<T> V; \
        return msl_lane_reduce(a, [](V x, V y) { return expr; }); \
    }
MSL_RED(simd_sum, x + y) MSL_RED(simd_product, x * y) MSL_RED(simd_min, min(x, y)) MSL_RED(simd_max, max(x, y))
MSL_RED(simd_and, x & y) MSL_RED(simd_or, x | y) MSL_RED(simd_xor, x ^ y)
#undef MSL_RED
MSL_INL bool lane_any(bool_l a) { return simd_or(int_l::of(a.m)) != 0; }
MSL_INL bool lane_all(bool_l a) { return simd_and(int_l::of(a.m)) != 0; }
MSL_INL bool lane_any(bool a) { return a; }
MSL_INL bool lane_all(bool a) { return a; }
MSL_INL bool simd_any(bool_l a) { return lane_any(a); }
MSL_INL bool simd_all(bool_l a) { return lane_all(a); }
template <class T> MSL_INL lane_vec<T> simd_prefix_inclusive_sum(lane_vec<T> a) {
    for (uint k = 1; k < MSL_LANES; k++) a.v[k] += a.v[k - 1];
    return a;
}
template <class T> MSL_INL lane_vec<T> simd_prefix_exclusive_sum(lane_vec<T> a) {
    return simd_prefix_inclusive_sum(a) - a;
}
