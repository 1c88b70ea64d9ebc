// Floating point functions of chapter 6.5 for float, half and their vectors.
#pragma once
namespace metal {
#define MSL_F1(name, call) \
    MSL_INL float name(float x) { return call; } \
    MSL_INL half name(half h) { float x = h; return (half)(call); } \
    template <class T, int N> MSL_INL vec<T, N> name(vec<T, N> v) { \
        vec<T, N> r; for (int i = 0; i < N; i++) r[i] = name(v[i]); return r; }
#define MSL_F2(name, call) \
    MSL_INL float name(float x, float y) { return call; } \
    MSL_INL half name(half a, half b) { float x = a, y = b; return (half)(call); } \
    template <class T, int N> MSL_INL vec<T, N> name(vec<T, N> v, vec<T, N> w) { \
        vec<T, N> r; for (int i = 0; i < N; i++) r[i] = name(v[i], w[i]); return r; } \
    MSL_MIXED2(name)
#define MSL_F3(name, call) \
    MSL_INL float name(float x, float y, float z) { return call; } \
    MSL_INL half name(half a, half b, half c) { float x = a, y = b, z = c; return (half)(call); } \
    template <class T, int N> MSL_INL vec<T, N> name(vec<T, N> u, vec<T, N> v, vec<T, N> w) { \
        vec<T, N> r; for (int i = 0; i < N; i++) r[i] = name(u[i], v[i], w[i]); return r; } \
    MSL_MIXED3(name)
#ifdef MSL_PTX
#include "msl_float_ptx.h"
#else
MSL_F1(sin, __builtin_sinf(x)) MSL_F1(cos, __builtin_cosf(x)) MSL_F1(tan, __builtin_tanf(x))
MSL_F1(asin, __builtin_asinf(x)) MSL_F1(acos, __builtin_acosf(x)) MSL_F1(atan, __builtin_atanf(x))
MSL_F1(sinh, __builtin_sinhf(x)) MSL_F1(cosh, __builtin_coshf(x)) MSL_F1(tanh, __builtin_tanhf(x))
MSL_F1(asinh, __builtin_asinhf(x)) MSL_F1(acosh, __builtin_acoshf(x)) MSL_F1(atanh, __builtin_atanhf(x))
MSL_F1(exp, __builtin_expf(x)) MSL_F1(exp2, __builtin_exp2f(x)) MSL_F1(exp10, __builtin_powf(10.0f, x))
MSL_F1(log, __builtin_logf(x)) MSL_F1(log2, __builtin_log2f(x)) MSL_F1(log10, __builtin_log10f(x))
MSL_F2(pow, __builtin_powf(x, y)) MSL_F2(powr, __builtin_powf(x, y)) MSL_F2(atan2, __builtin_atan2f(x, y))
MSL_F2(fmod, __builtin_fmodf(x, y))
#endif
MSL_F1(sqrt, __builtin_sqrtf(x)) MSL_F1(rsqrt, 1.0f / __builtin_sqrtf(x))
MSL_F1(floor, __builtin_floorf(x)) MSL_F1(ceil, __builtin_ceilf(x)) MSL_F1(trunc, __builtin_truncf(x))
MSL_F1(round, __builtin_roundf(x)) MSL_F1(rint, __builtin_rintf(x)) MSL_F1(fabs, __builtin_fabsf(x))
MSL_F1(saturate, x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f)
MSL_F1(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? x : 0.0f)
MSL_F2(fmin, __builtin_fminf(x, y)) MSL_F2(fmax, __builtin_fmaxf(x, y)) MSL_F2(copysign, __builtin_copysignf(x, y))
MSL_F2(divide, x / y) MSL_F2(fdim, x > y ? x - y : 0.0f) MSL_F2(step, y < x ? 0.0f : 1.0f)
MSL_F3(fma, __builtin_fmaf(x, y, z)) MSL_F3(mix, x + (y - x) * z)
MSL_F3(smoothstep, ({ float t = (z - x) / (y - x); t = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t; t * t * (3.0f - 2.0f * t); }))
#undef MSL_F1
#undef MSL_F2
#undef MSL_F3
// Less than 1, for tiny negative numbers too.
MSL_INL float fract(float x) { return __builtin_fminf(x - __builtin_floorf(x), 0x1.fffffep-1f); }
MSL_INL half fract(half h) { const float x = h; return (half)__builtin_fminf(x - __builtin_floorf(x), 0x1.ffcp-1f); }
template <class T, int N> MSL_INL vec<T, N> fract(vec<T, N> v) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = fract(T(v[i])); return r; }
MSL_INL float abs(float x) { return __builtin_fabsf(x); }
MSL_INL half abs(half x) { return (half)__builtin_fabsf((float)x); }
MSL_INL bool isnan(float x) { return x != x; }
MSL_INL bool isinf(float x) { return __builtin_fabsf(x) == __builtin_inff(); }
MSL_INL bool isfinite(float x) { return __builtin_fabsf(x) < __builtin_inff(); }
MSL_INL bool signbit(float x) { return msl_as_type<uint>(x) >> 31; }
MSL_INL float ldexp(float x, int k) {
    // Three steps keep every scale representable; all but the last are exact where the result is neither 0 nor infinite.
    int a = k / 3, b = (k - a) / 2, c = k - a - b;
    a = a < -126 ? -126 : a > 127 ? 127 : a;
    b = b < -126 ? -126 : b > 127 ? 127 : b;
    c = c < -126 ? -126 : c > 127 ? 127 : c;
    return x * msl_as_type<float>(uint(a + 127) << 23) * msl_as_type<float>(uint(b + 127) << 23) * msl_as_type<float>(uint(c + 127) << 23);
}
namespace precise {
using namespace metal;
}
namespace fast {
using namespace metal;
}
}  // namespace metal
