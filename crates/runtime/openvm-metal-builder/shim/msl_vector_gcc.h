// Short vectors for compilers without ext_vector_type: members, arithmetic, leading swizzles.
#pragma once
namespace metal {
template <class T, int N> struct vec;
#define MSL_VEC_OPS(N, EACH) \
    T& operator[](int i) { return (&x)[i]; } \
    T operator[](int i) const { return (&x)[i]; } \
    template <class F> static MSL_INL vec map(F f) { vec r; EACH return r; }
#define MSL_E(i) (&r.x)[i] = f(i);
template <class T> struct alignas(2 * sizeof(T)) vec<T, 2> {
    T x, y;
    vec() = default;
    constexpr vec(T s) : x(s), y(s) {}
    constexpr vec(T x, T y) : x(x), y(y) {}
    template <class U> explicit vec(vec<U, 2> o) : x(o.x), y(o.y) {}
    MSL_VEC_OPS(2, MSL_E(0) MSL_E(1))
};
template <class T> struct alignas(4 * sizeof(T)) vec<T, 3> {
    T x, y, z;
    vec() = default;
    constexpr vec(T s) : x(s), y(s), z(s) {}
    constexpr vec(T x, T y, T z) : x(x), y(y), z(z) {}
    constexpr vec(vec<T, 2> a, T z) : x(a.x), y(a.y), z(z) {}
    template <class U> explicit vec(vec<U, 3> o) : x(o.x), y(o.y), z(o.z) {}
    MSL_VEC_OPS(3, MSL_E(0) MSL_E(1) MSL_E(2))
};
template <class T> struct alignas(4 * sizeof(T)) vec<T, 4> {
    T x, y, z, w;
    vec() = default;
    constexpr vec(T s) : x(s), y(s), z(s), w(s) {}
    constexpr vec(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
    constexpr vec(vec<T, 2> a, vec<T, 2> b) : x(a.x), y(a.y), z(b.x), w(b.y) {}
    constexpr vec(vec<T, 3> a, T w) : x(a.x), y(a.y), z(a.z), w(w) {}
    template <class U> explicit vec(vec<U, 4> o) : x(o.x), y(o.y), z(o.z), w(o.w) {}
    MSL_VEC_OPS(4, MSL_E(0) MSL_E(1) MSL_E(2) MSL_E(3))
};
#undef MSL_E
#undef MSL_VEC_OPS
#define MSL_OP(op) \
    template <class T, int N> MSL_INL vec<T, N> operator op(vec<T, N> a, vec<T, N> b) { \
        return vec<T, N>::map([&](int i) { return T(a[i] op b[i]); }); } \
    template <class T, int N> MSL_INL vec<T, N> operator op(vec<T, N> a, typename msl_same<T>::type b) { return a op vec<T, N>(b); } \
    template <class T, int N> MSL_INL vec<T, N> operator op(typename msl_same<T>::type a, vec<T, N> b) { return vec<T, N>(a) op b; } \
    template <class T, int N, class B> MSL_INL vec<T, N>& operator op##=(vec<T, N>& a, B b) { return a = a op b; }
MSL_OP(+) MSL_OP(-) MSL_OP(*) MSL_OP(/) MSL_OP(%) MSL_OP(&) MSL_OP(|) MSL_OP(^) MSL_OP(<<) MSL_OP(>>)
#undef MSL_OP
#define MSL_OP(op) \
    template <class T, int N> MSL_INL vec<bool, N> operator op(vec<T, N> a, vec<T, N> b) { \
        return vec<bool, N>::map([&](int i) { return a[i] op b[i]; }); } \
    template <class T, int N> MSL_INL vec<bool, N> operator op(vec<T, N> a, typename msl_same<T>::type b) { return a op vec<T, N>(b); } \
    template <class T, int N> MSL_INL vec<bool, N> operator op(typename msl_same<T>::type a, vec<T, N> b) { return vec<T, N>(a) op b; }
MSL_OP(==) MSL_OP(!=) MSL_OP(<) MSL_OP(<=) MSL_OP(>) MSL_OP(>=)
#undef MSL_OP
template <int N> MSL_INL vec<bool, N> operator&&(vec<bool, N> a, vec<bool, N> b) { return a & b; }
template <int N> MSL_INL vec<bool, N> operator||(vec<bool, N> a, vec<bool, N> b) { return a | b; }
template <int N> MSL_INL vec<bool, N> operator!(vec<bool, N> a) { return a == vec<bool, N>(false); }
template <class T, int N> MSL_INL vec<T, N> operator~(vec<T, N> a) { return a ^ vec<T, N>(T(-1)); }
template <class T, int N> MSL_INL vec<T, N> operator-(vec<T, N> a) { return vec<T, N>(T(0)) - a; }
}  // namespace metal
#define MSL_VEC(T) \
    typedef metal::vec<T, 2> T##2; \
    typedef metal::vec<T, 3> T##3; \
    typedef metal::vec<T, 4> T##4;
MSL_VEC(bool) MSL_NUMBERS(MSL_VEC)
template <class V> struct msl_vec_info;
template <class T, int N> struct msl_vec_info<metal::vec<T, N>> {
    typedef T elem;
    static constexpr int size = N;
};
