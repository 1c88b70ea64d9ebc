// Relational functions (chapter 6.4): kinds of floating point numbers, and what is made of vectors of bool.
#pragma once
#ifdef __clang__
#include "msl_bools.h"
#endif
namespace metal {
#ifdef __clang__
template <int N> using msl_mask = msl_bools<N>;
template <int N> MSL_INL bool any(msl_bools<N> m) { bool r = false; for (int i = 0; i < N; i++) r |= m[i]; return r; }
template <int N> MSL_INL bool all(msl_bools<N> m) { bool r = true; for (int i = 0; i < N; i++) r &= m[i]; return r; }
template <class T, int N> MSL_INL vec<T, N> select(vec<T, N> a, vec<T, N> b, msl_bools<N> c) {
    vec<T, N> r;
    for (int i = 0; i < N; i++) r[i] = c[i] ? b[i] : a[i];
    return r;
}
template <int N> MSL_INL msl_bools<N> select(msl_bools<N> a, msl_bools<N> b, msl_bools<N> c) { return (b & c) | (a & !c); }
#else
template <int N> using msl_mask = vec<bool, N>;
#endif
template <class A, class B, class C, class V = msl_vector_t<A, B>, int N = msl_vec_info<C>::size> MSL_INL V select(A a, B b, C c) {
    return select(msl_whole<V>(a), msl_whole<V>(b), c);
}
#define MSL_IS1(name, call) \
    MSL_INL bool name(half h) { float x = h; return call; } \
    template <class T, int N> MSL_INL msl_mask<N> name(vec<T, N> v) { \
        msl_mask<N> r; for (int i = 0; i < N; i++) r[i] = name(T(v[i])); return r; }
#define MSL_IS2(name, call) \
    MSL_INL bool name(float x, float y) { return call; } \
    MSL_INL bool name(half a, half b) { float x = a, y = b; return call; } \
    template <class T, int N> MSL_INL msl_mask<N> name(vec<T, N> v, vec<T, N> w) { \
        msl_mask<N> r; for (int i = 0; i < N; i++) r[i] = name(T(v[i]), T(w[i])); return r; } \
    MSL_MIXED2(name)
MSL_INL bool isnormal(float x) { x = __builtin_fabsf(x); return x >= __FLT_MIN__ && x < __builtin_inff(); }
MSL_IS1(isnormal, __builtin_fabsf(x) >= 6.103515625e-05f && __builtin_fabsf(x) < __builtin_inff())
MSL_IS1(isnan, isnan(x)) MSL_IS1(isinf, isinf(x)) MSL_IS1(isfinite, isfinite(x)) MSL_IS1(signbit, signbit(x))
MSL_IS2(isordered, x == x && y == y) MSL_IS2(isunordered, x != x || y != y)
#undef MSL_IS1
#undef MSL_IS2
}  // namespace metal
