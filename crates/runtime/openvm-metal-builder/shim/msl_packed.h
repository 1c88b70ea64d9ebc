// Vectors without padding (chapter 2.2.3): they calculate as the vectors they convert to.
#pragma once
namespace metal {
#ifdef MSL_LINT
// Constants are in an address space of their own.
#define MSL_PACKED_CONSTANT(N) \
    packed_vec(const packed_vec&) = default; \
    packed_vec(const __constant packed_vec&); \
    T operator[](int i) const __constant; \
    operator vec<T, N>() const __constant;
#else
#define MSL_PACKED_CONSTANT(N)
#endif
#define MSL_PACKED(N, ...) \
    packed_vec() = default; \
    MSL_PACKED_CONSTANT(N) \
    template <class A, class B, class... C, class = enable_if_t<(sizeof...(C) + 2 < N || msl_count<A>::value + msl_count<B>::value > 2)>> \
    MSL_INL packed_vec(A a, B b, C... c) : packed_vec(msl_make<vec<T, N>>(a, b, c...)) {} \
    template <class U> MSL_INL explicit packed_vec(packed_vec<U, N> o) : packed_vec(msl_make<vec<T, N>>(vec<U, N>(o))) {} \
    MSL_INL operator vec<T, N>() const { return vec<T, N>{__VA_ARGS__}; } \
    MSL_INL T& operator[](int i) { return (&x)[i]; } \
    MSL_INL T operator[](int i) const { return (&x)[i]; } \
    MSL_PACKED_SET(N, +) MSL_PACKED_SET(N, -) MSL_PACKED_SET(N, *) MSL_PACKED_SET(N, /)
#define MSL_PACKED_SET(N, op) MSL_INL packed_vec& operator op##=(vec<T, N> o) { return *this = packed_vec(vec<T, N>(*this) op o); }
template <class T> struct packed_vec<T, 2> {
    T x, y;
    MSL_INL constexpr packed_vec(T x, T y) : x(x), y(y) {}
    MSL_INL packed_vec(vec<T, 2> v) : x(v[0]), y(v[1]) {}
    MSL_PACKED(2, x, y)
};
template <class T> struct packed_vec<T, 3> {
    T x, y, z;
    MSL_INL constexpr packed_vec(T x, T y, T z) : x(x), y(y), z(z) {}
    MSL_INL packed_vec(vec<T, 3> v) : x(v[0]), y(v[1]), z(v[2]) {}
    MSL_PACKED(3, x, y, z)
};
template <class T> struct packed_vec<T, 4> {
    T x, y, z, w;
    MSL_INL constexpr packed_vec(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
    MSL_INL packed_vec(vec<T, 4> v) : x(v[0]), y(v[1]), z(v[2]), w(v[3]) {}
    MSL_PACKED(4, x, y, z, w)
};
#undef MSL_PACKED
#undef MSL_PACKED_SET
#undef MSL_PACKED_CONSTANT
#define MSL_OP(op) \
    template <class T, int N> MSL_INL vec<T, N> operator op(packed_vec<T, N> a, packed_vec<T, N> b) { return vec<T, N>(a) op vec<T, N>(b); } \
    template <class T, int N> MSL_INL vec<T, N> operator op(packed_vec<T, N> a, typename msl_same<vec<T, N>>::type b) { return vec<T, N>(a) op b; } \
    template <class T, int N> MSL_INL vec<T, N> operator op(typename msl_same<vec<T, N>>::type a, packed_vec<T, N> b) { return a op vec<T, N>(b); }
MSL_OP(+) MSL_OP(-) MSL_OP(*) MSL_OP(/)
#undef MSL_OP
template <class T, int N> MSL_INL vec<T, N> operator-(packed_vec<T, N> a) { return -vec<T, N>(a); }
template <class T, int N> MSL_INL T length(packed_vec<T, N> a) { return length(vec<T, N>(a)); }
template <class T, int N> MSL_INL T length_squared(packed_vec<T, N> a) { return length_squared(vec<T, N>(a)); }
template <class T, int N> MSL_INL vec<T, N> normalize(packed_vec<T, N> a) { return normalize(vec<T, N>(a)); }
}  // namespace metal
template <class T, int N> struct msl_count<metal::packed_vec<T, N>> { static constexpr int value = N; };
#define MSL_PACKED(T) \
    typedef metal::packed_vec<T, 2> packed_##T##2; \
    typedef metal::packed_vec<T, 3> packed_##T##3; \
    typedef metal::packed_vec<T, 4> packed_##T##4;
MSL_NUMBERS(MSL_PACKED)
#if defined(__clang__) && !defined(MSL_LINT)
MSL_PACKED(bfloat)
#endif
#undef MSL_PACKED
