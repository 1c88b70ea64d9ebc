// Operations of quad-groups, four neighbouring lanes of a SIMD-group: as those of SIMD-groups in msl_sync.h.
#pragma once
namespace metal {
MSL_INL ushort msl_quad_base() { return ushort(msl_lane_id() & ~3u); }
MSL_INL ushort msl_quad_id() { return ushort(msl_lane_id() & 3u); }
template <class T> MSL_INL T quad_shuffle(T v, ushort k, MSL_AT) { return simd_shuffle(v, ushort(msl_quad_base() + (k & 3)) MSL_L); }
template <class T> MSL_INL T quad_broadcast(T v, ushort k, MSL_AT) { return quad_shuffle(v, k MSL_L); }
template <class T> MSL_INL T quad_broadcast_first(T v, MSL_AT) { return quad_shuffle(v, 0 MSL_L); }
template <class T> MSL_INL T quad_shuffle_xor(T v, ushort m, MSL_AT) { return simd_shuffle_xor(v, ushort(m & 3) MSL_L); }
template <class T> MSL_INL T quad_shuffle_down(T v, ushort d, MSL_AT) {
    const ushort q = msl_quad_id(), k = ushort(q + d);
    return quad_shuffle(v, k < 4 ? k : q MSL_L);
}
template <class T> MSL_INL T quad_shuffle_up(T v, ushort d, MSL_AT) {
    const ushort q = msl_quad_id();
    return quad_shuffle(v, q >= d ? ushort(q - d) : q MSL_L);
}
template <class T> MSL_INL T quad_shuffle_rotate_down(T v, ushort d, MSL_AT) { return quad_shuffle(v, ushort(msl_quad_id() + d) MSL_L); }
template <class T> MSL_INL T quad_shuffle_rotate_up(T v, ushort d, MSL_AT) { return quad_shuffle(v, ushort(msl_quad_id() + 4 - (d & 3)) MSL_L); }
template <class T> MSL_INL T quad_shuffle_and_fill_down(T v, T fill, ushort d, MSL_AT) {
    const ushort k = ushort(msl_quad_id() + d);
    const T a = quad_shuffle(v, k MSL_L), b = quad_shuffle(fill, k MSL_L);
    return k < 4 ? a : b;
}
template <class T> MSL_INL T quad_shuffle_and_fill_up(T v, T fill, ushort d, MSL_AT) {
    const ushort q = msl_quad_id(), k = ushort(q + 4 - (d & 3));
    const T a = quad_shuffle(v, k MSL_L), b = quad_shuffle(fill, k MSL_L);
    return q >= d ? a : b;
}
#define MSL_RED(name, expr) \
    template <class T> MSL_INL T name(T v, MSL_AT) { \
        const T x = quad_shuffle_xor(v, 1 MSL_L), s = msl_quad_pair(v, x, [](T a, T b) { return T(expr); }); \
        const T y = quad_shuffle_xor(s, 2 MSL_L); \
        return msl_quad_pair(s, y, [](T a, T b) { return T(expr); }); }
template <class T, class F> MSL_INL T msl_quad_pair(T a, T b, F f) { return f(a, b); }
MSL_RED(quad_sum, a + b) MSL_RED(quad_product, a * b) MSL_RED(quad_max, max(a, b)) MSL_RED(quad_min, min(a, b))
MSL_RED(quad_and, a & b) MSL_RED(quad_or, a | b) MSL_RED(quad_xor, a ^ b)
#undef MSL_RED
MSL_INL bool quad_any(bool p, MSL_AT) { return quad_or((uint)p MSL_L) != 0; }
MSL_INL bool quad_all(bool p, MSL_AT) { return quad_and((uint)p MSL_L) != 0; }
MSL_INL quad_vote quad_ballot(bool p, MSL_AT) { return quad_vote(quad_or(p ? 1u << msl_quad_id() : 0u MSL_L)); }
MSL_INL quad_vote quad_active_threads_mask(MSL_AT) { return quad_ballot(true MSL_L); }
MSL_INL bool quad_is_first(MSL_AT) { return msl_quad_id() == 0; }
#define MSL_SCAN(name, op, identity) \
    template <class T> MSL_INL T quad_prefix_inclusive_##name(T v, MSL_AT) { \
        const ushort q = msl_quad_id(); \
        const T a = quad_shuffle_up(v, 1 MSL_L); v = q >= 1 ? T(v op a) : v; \
        const T b = quad_shuffle_up(v, 2 MSL_L); return q >= 2 ? T(v op b) : v; } \
    template <class T> MSL_INL T quad_prefix_exclusive_##name(T v, MSL_AT) { \
        const T p = quad_shuffle_up(quad_prefix_inclusive_##name(v MSL_L), 1 MSL_L); \
        return msl_quad_id() ? p : T(identity); }
MSL_SCAN(sum, +, 0) MSL_SCAN(product, *, 1)
#undef MSL_SCAN
#undef MSL_L
}  // namespace metal
