// bool2, bool3, bool4 for clang, whose comparisons give vectors of 0 and -1 and whose own vectors of bool are bits.
#pragma once
template <int N> struct msl_bools;
#ifdef MSL_LINT
#define MSL_BOOLS_BITS(N) // OpenCL has no vectors of bool
#else
#define MSL_BOOLS_BITS(N) \
    MSL_INL operator metal::vec<bool, N>() const { metal::vec<bool, N> r; for (int i = 0; i < N; i++) r[i] = (*this)[i]; return r; }
#endif
#define MSL_BOOLS(N) \
    MSL_INL bool& operator[](int i) { return (&x)[i]; } \
    MSL_INL bool operator[](int i) const { return (&x)[i]; } \
    msl_bools() = default; \
    MSL_BOOLS_BITS(N) \
    MSL_INL msl_bools operator!() const { msl_bools r; for (int i = 0; i < N; i++) r[i] = !(*this)[i]; return r; } \
    MSL_BOOLS_OP(N, &&) MSL_BOOLS_OP(N, ||) MSL_BOOLS_OP(N, &) MSL_BOOLS_OP(N, |) MSL_BOOLS_OP(N, ^) MSL_BOOLS_OP(N, ==) MSL_BOOLS_OP(N, !=)
#define MSL_BOOLS_OP(N, op) \
    friend MSL_INL msl_bools operator op(msl_bools a, msl_bools b) { for (int i = 0; i < N; i++) a[i] = a[i] op b[i]; return a; }
template <> struct msl_bools<2> {
    bool x, y;
    MSL_BOOLS(2)
    MSL_INL constexpr msl_bools(bool s) : x(s), y(s) {}
    MSL_INL constexpr msl_bools(bool x, bool y) : x(x), y(y) {}
    template <class T> MSL_INL msl_bools(metal::vec<T, 2> v) : x(v[0]), y(v[1]) {}
};
template <> struct msl_bools<3> {
    bool x, y, z;
    MSL_BOOLS(3)
    MSL_INL constexpr msl_bools(bool s) : x(s), y(s), z(s) {}
    MSL_INL constexpr msl_bools(bool x, bool y, bool z) : x(x), y(y), z(z) {}
    template <class T> MSL_INL msl_bools(metal::vec<T, 3> v) : x(v[0]), y(v[1]), z(v[2]) {}
};
template <> struct msl_bools<4> {
    bool x, y, z, w;
    MSL_BOOLS(4)
    MSL_INL constexpr msl_bools(bool s) : x(s), y(s), z(s), w(s) {}
    MSL_INL constexpr msl_bools(bool x, bool y, bool z, bool w) : x(x), y(y), z(z), w(w) {}
    template <class T> MSL_INL msl_bools(metal::vec<T, 4> v) : x(v[0]), y(v[1]), z(v[2]), w(v[3]) {}
};
#undef MSL_BOOLS
#undef MSL_BOOLS_BITS
#undef MSL_BOOLS_OP
typedef msl_bools<2> bool2;
typedef msl_bools<3> bool3;
typedef msl_bools<4> bool4;
namespace metal {
using ::bool2; using ::bool3; using ::bool4;
}
template <int N> struct msl_count<msl_bools<N>> { static constexpr int value = N; };
template <int N> struct msl_vec_info<msl_bools<N>> {
    typedef bool elem;
    static constexpr int size = N;
};
