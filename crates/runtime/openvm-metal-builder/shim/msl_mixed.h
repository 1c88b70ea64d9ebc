// Scalars beside vectors: `pow(v, 2.0f)` means `pow(v, float3(2.0f))`.
#pragma once
namespace metal {
template <class T, int N> struct packed_vec;
// The first vector type among some types.
template <class... A> struct msl_vector_among {};
template <class A, class... B> struct msl_vector_among<A, B...> : msl_vector_among<B...> {};
template <class T, int N, class... B> struct msl_vector_among<vec<T, N>, B...> { typedef vec<T, N> type; };
template <class T, int N, class... B> struct msl_vector_among<packed_vec<T, N>, B...> { typedef vec<T, N> type; };
template <class... A> using msl_vector_t = typename msl_vector_among<A...>::type;
template <class V, class A> MSL_INL V msl_whole(A a) {
    if constexpr (msl_count<A>::value > 1) return a;
    else return V((typename msl_vec_info<V>::elem)a);
}
#define MSL_MIXED2(name) \
    template <class A, class B, class V = msl_vector_t<A, B>, int = msl_count<V>::value> MSL_INL auto name(A a, B b) { \
        return name(msl_whole<V>(a), msl_whole<V>(b)); }
#define MSL_MIXED3(name) \
    template <class A, class B, class C, class V = msl_vector_t<A, B, C>> MSL_INL auto name(A a, B b, C c) { \
        return name(msl_whole<V>(a), msl_whole<V>(b), msl_whole<V>(c)); }
// Functions of scalars, each element for itself.
#define MSL_EACH1(name) \
    template <class T, int N> MSL_INL vec<T, N> name(vec<T, N> v) { \
        vec<T, N> r; for (int i = 0; i < N; i++) r[i] = name(T(v[i])); return r; }
#define MSL_EACH2(name) \
    template <class T, int N> MSL_INL vec<T, N> name(vec<T, N> v, vec<T, N> w) { \
        vec<T, N> r; for (int i = 0; i < N; i++) r[i] = name(T(v[i]), T(w[i])); return r; } \
    MSL_MIXED2(name)
#define MSL_EACH3(name) \
    template <class T, int N> MSL_INL vec<T, N> name(vec<T, N> u, vec<T, N> v, vec<T, N> w) { \
        vec<T, N> r; for (int i = 0; i < N; i++) r[i] = name(T(u[i]), T(v[i]), T(w[i])); return r; } \
    MSL_MIXED3(name)
}  // namespace metal
