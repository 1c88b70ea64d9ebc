#pragma once
// Float functions: those of the platform on Apple GPUs and processors; on NVIDIA GPUs, for which no
// mathematics library is linked, polynomials in 64 bits, within 4 ULP, rounded for `float`. With SOFT_MATH processors
// take these too.
#include "elements.h"

#define EACH_FUNCTION(X) X(exp) X(log) X(sin) X(cos) X(tan) X(tanh)

#ifndef SOFT_MATH
#define SOFT_MATH 0
#endif
#include "math_wide.h"

#if MSL_HOST && !SOFT_MATH
// True where this thread flushes subnormals: the processor then stands for an Apple GPU. The same in all of a kernel, so compilers
// may ask once.
inline bool stands_for_apple() {
    // Both unknown: a comparison of bits with a constant would not ask the processor.
    uint least = 1u, none = 0u;
    __asm__("" : "+r"(least), "+r"(none));
    return as_type<float>(least) == as_type<float>(none);
}
// Moves a result of such a processor by up to `most` units in the last place, each argument's always alike: with the error of its own
// function that is as much as an Apple GPU's may err. Zeros, infinities and NaNs stay.
inline float moved(float r, uint seed, uint most) {
    if (!stands_for_apple()) return r;
    uint b = as_type<uint>(r), m = b & 0x7fffffffu;
    if (m <= 0x00800000u + most || m >= 0x7f800000u - most) return r;
    uint h = (seed ^ seed >> 15) * 0x2c1b3c6du;
    return as_type<float>(b + (h >> 8) % (2u * most + 1u) - most);
}
#define FUNCTION(name, most) \
    inline float real_##name(float x) { return moved(__builtin_##name##f(x), as_type<uint>(x), most); } \
    inline wide real_##name(wide x) { return __builtin_##name(x); }
FUNCTION(exp, 3u) FUNCTION(log, 3u) FUNCTION(sin, 3u) FUNCTION(cos, 3u) FUNCTION(tan, 5u) FUNCTION(tanh, 4u)
#undef FUNCTION
inline float real_pow(float x, float y) { return moved(__builtin_powf(x, y), as_type<uint>(x) ^ as_type<uint>(y) * 31u, 15u); }
inline wide real_pow(wide x, wide y) { return __builtin_pow(x, y); }
inline float real_atan2(float y, float x) { return moved(__builtin_atan2f(y, x), as_type<uint>(y) ^ as_type<uint>(x) * 31u, 5u); }
inline wide real_atan2(wide y, wide x) { return __builtin_atan2(y, x); }
#elif HAVE_WIDE
#define POWER_CALL inline
#include "power.h"
#define FUNCTION(name) \
    inline float real_##name(float x) { return float(real_##name(wide(x))); }
EACH_FUNCTION(FUNCTION)
#undef FUNCTION
inline float real_pow(float x, float y) {
    if (y == 0.0f || x == 1.0f) return 1.0f;
    if (x != x || y != y) return x + y;
    wide ax = __builtin_fabs(wide(x)), ay = __builtin_fabs(wide(y));
    bool whole = ay >= 16777216.0 || wide(long(ay)) == ay;
    bool odd = ay < 16777216.0 && whole && (long(ay) & 1) != 0;
    if (x < 0.0f && !whole && ax < __builtin_inf() && ay < __builtin_inf()) return __builtin_nanf("");
    wide r = ax == 1.0 ? 1.0 : real_exp(wide(y) * real_log(ax));
    return float(odd && (as_type<uint>(x) >> 31) != 0 ? -r : r);
}
inline wide real_pow(wide x, wide y) { return power(x, y); }
inline float real_atan2(float y, float x) { return float(real_atan2(wide(y), wide(x))); }
#else
#define FUNCTION(name) \
    inline float real_##name(float x) { return precise::name(x); }
EACH_FUNCTION(FUNCTION)
#undef FUNCTION
inline float real_pow(float x, float y) { return precise::pow(x, y); }
inline float real_atan2(float y, float x) { return precise::atan2(y, x); }
#endif

#if HAVE_WIDE
inline float real_sqrt(float x) { return __builtin_sqrtf(x); }
inline wide real_sqrt(wide x) { return __builtin_sqrt(x); }
inline float real_ceil(float x) { return __builtin_ceilf(x); }
inline wide real_ceil(wide x) { return __builtin_ceil(x); }
inline float real_floor(float x) { return __builtin_floorf(x); }
inline wide real_floor(wide x) { return __builtin_floor(x); }
inline float real_rint(float x) { return __builtin_rintf(x); }
inline wide real_rint(wide x) { return __builtin_rint(x); }
inline float real_abs(float x) { return __builtin_fabsf(x); }
inline wide real_abs(wide x) { return __builtin_fabs(x); }
#else
inline float real_sqrt(float x) { return precise::sqrt(x); }
inline float real_ceil(float x) { return ceil(x); }
inline float real_floor(float x) { return floor(x); }
inline float real_rint(float x) { return rint(x); }
inline float real_abs(float x) { return fabs(x); }
#endif

// Error function within 4 ULP: x P(x^2) below 1, then 1 - exp(-Q(x)).
inline float real_erf(float x) {
    float a = real_abs(x);
    if (a < 1.0f) {
        float z = x * x, s = -9.667044571482653e-06f;
        s = real_fma(s, z, 1.1265959025604977e-4f);
        s = real_fma(s, z, -8.484080405534861e-4f);
        s = real_fma(s, z, 5.221031807858004e-3f);
        s = real_fma(s, z, -2.6865430727670236e-2f);
        s = real_fma(s, z, 1.1283782495236844e-1f);
        s = real_fma(s, z, -3.761263846802871e-1f);
        return real_fma(s, z * x, 1.1283791670615435f * x);
    }
    float t = a > 4.0f ? 4.0f : a, g = -1.6371514145936436e-06f;
    g = real_fma(g, t, 4.605804268918978e-05f);
    g = real_fma(g, t, -5.968056256607798e-4f);
    g = real_fma(g, t, 4.759596293266265e-3f);
    g = real_fma(g, t, -2.6421136005663898e-2f);
    g = real_fma(g, t, 1.1008008294882024e-1f);
    g = real_fma(g, t, 6.31826051559163e-1f);
    g = real_fma(g, t, 1.130233434841994f);
    g = real_fma(g, t, -3.2013804967769883e-4f);
    float r = 1.0f - real_exp(-g);
    return a != a ? x : x < 0.0f ? -r : r;
}
#if MSL_HOST && !SOFT_MATH
inline wide real_erf(wide x) { return __builtin_erf(x); }
#elif HAVE_WIDE
inline wide real_erf(wide x) { return error_function(x); }
#endif

template <typename T> inline T real_sigmoid(T x) { return T(1) / (T(1) + real_exp(-x)); }

// x / 2 (1 + tanh u) = x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3); 0 at minus infinity.
template <typename T> inline T real_gelu(T x) {
    T u = T(0.79788456080286536) * x * (T(1) + T(0.044715) * x * x);
    bool lowest = x < T(0) && x - x != T(0);
    return lowest ? T(-0.0f) : x / (T(1) + real_exp(T(-2) * u));
}
