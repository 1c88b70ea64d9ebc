// Floating point functions of chapter 6.5 that are made of others, or of bits.
#pragma once
namespace metal {
#define MSL_M1(name, call) \
    MSL_INL float name(float x) { return call; } \
    MSL_INL half name(half h) { float x = h; return (half)(call); } \
    MSL_EACH1(name)
// Nearest multiple of a half (the lowest two bits of `q`) and what is left of `x`, times pi; exact up to there.
MSL_INL float msl_quarter(float x, int& q) {
    x -= 2.0f * __builtin_truncf(x * 0.5f);
    float n = __builtin_rintf(2.0f * x);
    q = int(n);
    return (x - 0.5f * n) * 3.14159265f;
}
MSL_INL float msl_sinpi(float x, int turn) {
    if (!(__builtin_fabsf(x) < __builtin_inff())) return __builtin_nanf("");
    int q;
    float r = msl_quarter(x, q);
    q += turn;
    float s = q & 1 ? cos(r) : sin(r);
    return q & 2 ? -s : s;
}
MSL_M1(sinpi, msl_sinpi(x, 0)) MSL_M1(cospi, msl_sinpi(x, 1)) MSL_M1(tanpi, msl_sinpi(x, 0) / msl_sinpi(x, 1))
#undef MSL_M1
template <class T> MSL_INL T sincos(T x, T& c) { c = cos(x); return sin(x); }

template <class T> MSL_INL T fmin3(T a, T b, T c) { return fmin(fmin(a, b), c); }
template <class T> MSL_INL T fmax3(T a, T b, T c) { return fmax(fmax(a, b), c); }
template <class T> MSL_INL T fmedian3(T a, T b, T c) { return fmax(fmin(a, b), fmin(fmax(a, b), c)); }
template <class T> MSL_INL T median3(T a, T b, T c) { return max(min(a, b), min(max(a, b), c)); }
MSL_MIXED3(fmin3) MSL_MIXED3(fmax3) MSL_MIXED3(fmedian3) MSL_MIXED3(median3) MSL_MIXED3(min3) MSL_MIXED3(max3)

MSL_INL float frexp(float x, int& e) {
    uint m = msl_as_type<uint>(x) & 0x7fffffffu;
    e = 0;
    if (m == 0 || m >= 0x7f800000u) return x;
    if (m < 0x00800000u) {
        x *= 16777216.0f; // a denormal
        e = -24;
    }
    e += int(msl_as_type<uint>(x) >> 23 & 255) - 126;
    return msl_as_type<float>((msl_as_type<uint>(x) & 0x807fffffu) | 0x3f000000u);
}
MSL_INL half frexp(half x, int& e) { return (half)frexp((float)x, e); }
template <class T, int N> MSL_INL vec<T, N> frexp(vec<T, N> v, vec<int, N>& e) {
    vec<T, N> r;
    for (int i = 0; i < N; i++) { int k; r[i] = frexp(T(v[i]), k); e[i] = k; }
    return r;
}
MSL_INL int ilogb(float x) {
    int e;
    float a = __builtin_fabsf(x);
    if (a == 0.0f) return -2147483647 - 1;
    if (!(a < __builtin_inff())) return 2147483647;
    frexp(a, e);
    return e - 1;
}
MSL_INL int ilogb(half x) { return ilogb((float)x); }
template <class T, int N> MSL_INL vec<int, N> ilogb(vec<T, N> v) { vec<int, N> r; for (int i = 0; i < N; i++) r[i] = ilogb(T(v[i])); return r; }
MSL_INL half ldexp(half x, int k) { return (half)ldexp((float)x, k < -60 ? -60 : k > 60 ? 60 : k); }
template <class T, int N> MSL_INL vec<T, N> ldexp(vec<T, N> v, vec<int, N> k) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = ldexp(T(v[i]), k[i]); return r; }
template <class T, int N> MSL_INL vec<T, N> ldexp(vec<T, N> v, int k) { return ldexp(v, vec<int, N>(k)); }
MSL_INL float modf(float x, float& whole) {
    whole = __builtin_truncf(x);
    return __builtin_copysignf(__builtin_fabsf(x) == __builtin_inff() ? 0.0f : x - whole, x);
}
MSL_INL half modf(half x, half& whole) {
    float w, r = modf((float)x, w);
    whole = (half)w;
    return (half)r;
}
template <class T, int N> MSL_INL vec<T, N> modf(vec<T, N> v, vec<T, N>& whole) {
    vec<T, N> r;
    for (int i = 0; i < N; i++) { T w; r[i] = modf(T(v[i]), w); whole[i] = w; }
    return r;
}
// Neighbour of a number whose bits are U, with the sign in the top bit.
template <class U, class T> MSL_INL T msl_next(T x, T y) {
    const U sign = U(U(1) << (sizeof(U) * 8 - 1));
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    U u = msl_as_type<U>(x);
    if (x == T(0)) return msl_as_type<T>(U((msl_as_type<U>(y) & sign) | 1));
    return msl_as_type<T>(U((x < y) == !(u & sign) ? u + 1 : u - 1));
}
MSL_INL float nextafter(float x, float y) { return msl_next<uint>(x, y); }
MSL_INL half nextafter(half x, half y) { return msl_next<ushort>(x, y); }
MSL_EACH2(nextafter)
}  // namespace metal
