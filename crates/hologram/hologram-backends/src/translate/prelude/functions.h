// Functions of floats: the processor's library, text of ours for NVIDIA GPUs, Metal's own.

#if MSL_HOST && !HG_SOFT_MATH
#if HG_AS_APPLE
// Moves a result by up to `most` units in the last place, each argument's always alike; zeros, infinities and NaNs stay.
METAL_FUNC float hg_moved(float r, uint seed, uint most) {
    const uint b = as_type<uint>(r), m = b & 0x7fffffffu;
    if (m <= 0x00800000u + most || m >= 0x7f800000u - most) return r;
    const uint h = (seed ^ seed >> 15) * 0x2c1b3c6du;
    return as_type<float>(b + (h >> 8) % (2u * most + 1u) - most);
}
#define HG_MOVED(r, seed, most) hg_moved(r, seed, most)
#else
#define HG_MOVED(r, seed, most) (r)
#endif
#define HG_MATH(name, most) \
    METAL_FUNC float hg_##name##_f32(float x) { return HG_MOVED(__builtin_##name##f(x), as_type<uint>(x), most); } \
    METAL_FUNC double hg_##name##_f64(double x) { return __builtin_##name(x); }
HG_MATH(exp, 3u) HG_MATH(log, 3u) HG_MATH(log2, 3u) HG_MATH(log10, 3u) HG_MATH(sin, 3u) HG_MATH(cos, 3u) HG_MATH(tan, 5u) HG_MATH(tanh, 4u)
METAL_FUNC float hg_pow_f32(float x, float y) { return HG_MOVED(__builtin_powf(x, y), as_type<uint>(x) ^ as_type<uint>(y) * 31u, 15u); }
METAL_FUNC double hg_pow_f64(double x, double y) { return __builtin_pow(x, y); }
#elif HG_DOUBLE
// NVIDIA: no mathematics library is linked. Within 6 ULP in double precision; float results are rounded from those.
METAL_FUNC double hg_scale(double x, int k) {
    int a = k / 2, b = k - a;
    return x * as_type<double>((ulong)(a + 1023) << 52) * as_type<double>((ulong)(b + 1023) << 52);
}
// exp(r) - 1 for |r| < 0.36.
METAL_FUNC double hg_expm1_small(double r) {
    double s = 1.0 / 6227020800.0;
    s = __builtin_fma(s, r, 1.0 / 479001600.0); s = __builtin_fma(s, r, 1.0 / 39916800.0);
    s = __builtin_fma(s, r, 1.0 / 3628800.0); s = __builtin_fma(s, r, 1.0 / 362880.0);
    s = __builtin_fma(s, r, 1.0 / 40320.0); s = __builtin_fma(s, r, 1.0 / 5040.0);
    s = __builtin_fma(s, r, 1.0 / 720.0); s = __builtin_fma(s, r, 1.0 / 120.0);
    s = __builtin_fma(s, r, 1.0 / 24.0); s = __builtin_fma(s, r, 1.0 / 6.0);
    s = __builtin_fma(s, r, 0.5);
    return __builtin_fma(s * r, r, r);
}
HG_FAR double hg_exp_f64(double x) {
    if (x != x) return x;
    if (x > 709.79) return __builtin_inf();
    if (x < -745.2) return 0.0;
    double k = __builtin_rint(x * 1.4426950408889634);
    double r = __builtin_fma(-k, 0.6931471803691238, x);
    r = __builtin_fma(-k, 1.9082149292705877e-10, r);
    return hg_scale(1.0 + hg_expm1_small(r), (int)k);
}
struct hg_log { double m, e; };
// log of the mantissa in [sqrt 1/2, sqrt 2) and the exponent, for finite x > 0.
HG_FAR hg_log hg_log_parts(double x) {
    int e = 0;
    if (x < 2.2250738585072014e-308) { x = x * 18014398509481984.0; e = -54; }
    ulong b = as_type<ulong>(x);
    e += (int)(b >> 52) - 1023;
    double m = as_type<double>((b & 0xffffffffffffful) | 0x3ff0000000000000ul);
    if (m > 1.4142135623730951) { m *= 0.5; e += 1; }
    double f = m - 1.0, s = f / (2.0 + f), z = s * s;
    double p = 1.0 / 25.0;
    p = __builtin_fma(p, z, 1.0 / 23.0); p = __builtin_fma(p, z, 1.0 / 21.0); p = __builtin_fma(p, z, 1.0 / 19.0);
    p = __builtin_fma(p, z, 1.0 / 17.0); p = __builtin_fma(p, z, 1.0 / 15.0); p = __builtin_fma(p, z, 1.0 / 13.0);
    p = __builtin_fma(p, z, 1.0 / 11.0); p = __builtin_fma(p, z, 1.0 / 9.0); p = __builtin_fma(p, z, 1.0 / 7.0);
    p = __builtin_fma(p, z, 1.0 / 5.0); p = __builtin_fma(p, z, 1.0 / 3.0); p = p * z;
    // log m = f - s (f - 2 p) where 2 s = f - s f.
    hg_log r;
    r.m = f - s * (f - 2.0 * p);
    r.e = (double)e;
    return r;
}
METAL_FUNC bool hg_log_special(double x) { return !(x > 0.0) || x == __builtin_inf(); }
METAL_FUNC double hg_log_edge(double x) { return x == 0.0 ? -__builtin_inf() : x > 0.0 ? x : __builtin_nan(""); }
HG_FAR double hg_log_f64(double x) {
    if (hg_log_special(x)) return hg_log_edge(x);
    hg_log l = hg_log_parts(x);
    return __builtin_fma(l.e, 0.6931471803691238, __builtin_fma(l.e, 1.9082149292705877e-10, l.m));
}
HG_FAR double hg_log2_f64(double x) {
    if (hg_log_special(x)) return hg_log_edge(x);
    hg_log l = hg_log_parts(x);
    return __builtin_fma(l.m, 1.4426950408889634, l.e);
}
HG_FAR double hg_log10_f64(double x) {
    if (hg_log_special(x)) return hg_log_edge(x);
    hg_log l = hg_log_parts(x);
    return __builtin_fma(l.e, 0.3010299956639812, l.m * 0.4342944819032518);
}
HG_FAR double hg_tanh_f64(double x) {
    if (x != x) return x;
    double a = hg_abs_f64(x), r;
    if (a < 0.17) {
        double t = hg_expm1_small(2.0 * a);
        r = t / (t + 2.0);
    } else {
        r = a > 22.0 ? 1.0 : 1.0 - 2.0 / (hg_exp_f64(2.0 * a) + 1.0);
    }
    return as_type<double>(as_type<ulong>(r) | (as_type<ulong>(x) & 0x8000000000000000ul));
}
// Powers and functions of angles, the text of which stands after this one.
#define HG_SHARED 1
// What becomes a float needs fewer terms, and no division in double precision. exp(r) - 1 within 2^-31 for |r| < 0.36.
METAL_FUNC double hg_expm1_near(double r) {
    double s = 1.0 / 362880.0;
    s = __builtin_fma(s, r, 1.0 / 40320.0); s = __builtin_fma(s, r, 1.0 / 5040.0); s = __builtin_fma(s, r, 1.0 / 720.0);
    s = __builtin_fma(s, r, 1.0 / 120.0); s = __builtin_fma(s, r, 1.0 / 24.0); s = __builtin_fma(s, r, 1.0 / 6.0);
    s = __builtin_fma(s, r, 0.5);
    return __builtin_fma(s * r, r, r);
}
METAL_FUNC double hg_two_to(double k) { return as_type<double>((ulong)((int)k + 1023) << 52); }
METAL_FUNC float hg_exp_f32(float f) {
    double x = f < -200.0f ? -200.0 : f > 200.0f ? 200.0 : (double)f, k = __builtin_rint(x * 1.4426950408889634);
    double s = hg_two_to(k);
    return f != f ? f : (float)__builtin_fma(hg_expm1_near(__builtin_fma(-k, 0.6931471805599453, x)), s, s);
}
// t / (t + 2), t = exp(2 a) - 1.
METAL_FUNC float hg_tanh_f32(float f) {
    double a = hg_abs_f64((double)f), x = a < 22.0 ? a + a : 44.0, k = __builtin_rint(x * 1.4426950408889634);
    double s = hg_two_to(k), t = __builtin_fma(hg_expm1_near(__builtin_fma(-k, 0.6931471805599453, x)), s, s - 1.0), d = t + 2.0;
    double r = (double)(1.0f / (float)d);
    r = __builtin_fma(r, __builtin_fma(-d, r, 1.0), r);
    return f != f ? f : as_type<float>(as_type<uint>((float)(t * r)) | (as_type<uint>(f) & 0x80000000u));
}
#define HG_MATH(name) METAL_FUNC float hg_##name##_f32(float x) { return (float)hg_##name##_f64((double)x); }
HG_MATH(log) HG_MATH(log2) HG_MATH(log10)
METAL_FUNC float hg_pow_f32(float x, float y) {
    if (y == 0.0f || x == 1.0f) return 1.0f;
    if (x != x || y != y) return x + y;
    double ay = hg_abs_f64((double)y);
    bool whole = ay >= 16777216.0 || (double)(long)ay == ay;
    bool odd = ay < 16777216.0 && whole && ((long)ay & 1);
    double ax = hg_abs_f64((double)x);
    if (x < 0.0f && !whole && ax < __builtin_inf()) return __builtin_nanf("");
    double r;
    if (ax == 1.0) r = 1.0;
    else if (ax == 0.0) r = y > 0.0f ? 0.0 : __builtin_inf();
    else if (ax == __builtin_inf()) r = y > 0.0f ? __builtin_inf() : 0.0;
    else r = hg_exp_f64((double)y * hg_log_f64(ax));
    bool negative = odd && (as_type<uint>(x) >> 31);
    return (float)(negative ? -r : r);
}
#else
#define HG_MATH(name) METAL_FUNC float hg_##name##_f32(float x) { return precise::name(x); }
HG_MATH(exp) HG_MATH(log) HG_MATH(log2) HG_MATH(log10) HG_MATH(sin) HG_MATH(cos) HG_MATH(tan) HG_MATH(tanh)
METAL_FUNC float hg_pow_f32(float x, float y) { return precise::pow(x, y); }
#endif
