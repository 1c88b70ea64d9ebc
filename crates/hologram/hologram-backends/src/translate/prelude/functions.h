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
constant constexpr ulong hg_two_over_pi[20] = {0xa2f9836e4e441529ul, 0xfc2757d1f534ddc0ul, 0xdb6295993c439041ul, 0xfe5163abdebbc561ul, 0xb7246e3a424dd2e0ul, 0x06492eea09d1921cul, 0xfe1deb1cb129a73eul, 0xe88235f52ebb4484ul, 0xe99c7026b45f7e41ul, 0x3991d639835339f4ul, 0x9c845f8bbdf9283bul, 0x1ff897ffde05980ful, 0xef2f118b5a0a6d1ful, 0x6d367ecf27cb09b7ul, 0x4f463f669e5fea2dul, 0x7527bac7ebe5f17bul, 0x3d0739f78a5292eaul, 0x6bfb5fb11f8d5d08ul, 0x56033046fc7b6babul, 0xf0cfbc209af4361dul};
struct hg_angle { double r; int q; };
METAL_FUNC ulong hg_pi_bits(uint at) {
    uint w = at >> 6, s = at & 63;
    return s == 0 ? hg_two_over_pi[w] : hg_two_over_pi[w] << s | hg_two_over_pi[w + 1] >> (64 - s);
}
METAL_FUNC ulong hg_high(ulong a, ulong b) {
    ulong al = (uint)a, ah = a >> 32, bl = (uint)b, bh = b >> 32;
    ulong t = ah * bl + ((al * bl) >> 32), u = al * bh + (uint)t;
    return ah * bh + (t >> 32) + (u >> 32);
}
// x = q pi/2 + r, |r| <= pi/4; finite x.
HG_FAR hg_angle hg_reduce(double x) {
    hg_angle a;
    if (hg_abs_f64(x) < 100000.0) {
        double k = __builtin_rint(x * 0.6366197723675814);
        double r = __builtin_fma(-k, 1.5707963267948966, x);
        r = __builtin_fma(-k, 6.123233995736766e-17, r);
        // Of 0 the sign would be lost.
        a.r = k == 0.0 ? x : __builtin_fma(-k, -1.4973849048591698e-33, r);
        a.q = (int)k;
        return a;
    }
    ulong b = as_type<ulong>(x), m = (b & 0xffffffffffffful) | 0x10000000000000ul;
    // x = m 2^e; the integer bits of x 2/pi above the second vanish modulo 4.
    int e = (int)((b >> 52) & 2047) - 1075;
    uint at = e < 2 ? 0u : (uint)(e - 2);
    ulong h = hg_pi_bits(at), l = hg_pi_bits(at + 64), c = hg_pi_bits(at + 128);
    // The upper two of three words of the product of m with the window.
    ulong p1 = m * l, carry = hg_high(m, c);
    p1 += carry;
    ulong low = m * h, p0 = low + hg_high(m, l) + (p1 < carry ? 1ul : 0ul);
    // The top two bits of p0 are the quadrant; with e < 2 (here e > -38) they come from the word above.
    if (e < 2) {
        uint s = (uint)(2 - e);
        ulong over = hg_high(m, h) + (p0 < low ? 1ul : 0ul);
        p1 = p0 << (64 - s) | p1 >> s;
        p0 = over << (64 - s) | p0 >> s;
    }
    uint q = (uint)(p0 >> 62);
    ulong f0 = p0 << 2 | p1 >> 62, f1 = p1 << 2;
    bool up = f0 >> 63;
    if (up) { q += 1; f1 = 0 - f1; f0 = ~f0 + (f1 == 0 ? 1ul : 0ul); }
    double r = (double)f0 * 5.421010862427522e-20 + (double)f1 * 2.938735877055719e-39;
    r = r * 1.5707963267948966;
    if (up) r = -r;
    bool negative = b >> 63;
    a.r = negative ? -r : r;
    a.q = negative ? -(int)q : (int)q;
    return a;
}
METAL_FUNC double hg_sin_small(double r) {
    double z = r * r, s = -1.0 / 1307674368000.0;
    s = __builtin_fma(s, z, 1.0 / 6227020800.0); s = __builtin_fma(s, z, -1.0 / 39916800.0); s = __builtin_fma(s, z, 1.0 / 362880.0);
    s = __builtin_fma(s, z, -1.0 / 5040.0); s = __builtin_fma(s, z, 1.0 / 120.0); s = __builtin_fma(s, z, -1.0 / 6.0);
    s = __builtin_fma(z * s, r, r);
    return r == 0.0 ? r : s;
}
METAL_FUNC double hg_cos_small(double r) {
    double z = r * r, s = 1.0 / 20922789888000.0;
    s = __builtin_fma(s, z, -1.0 / 87178291200.0); s = __builtin_fma(s, z, 1.0 / 479001600.0); s = __builtin_fma(s, z, -1.0 / 3628800.0);
    s = __builtin_fma(s, z, 1.0 / 40320.0); s = __builtin_fma(s, z, -1.0 / 720.0); s = __builtin_fma(s, z, 1.0 / 24.0);
    return __builtin_fma(z * z, s, __builtin_fma(z, -0.5, 1.0));
}
METAL_FUNC double hg_sin_f64(double x) {
    if (!(hg_abs_f64(x) < __builtin_inf())) return __builtin_nan("");
    hg_angle a = hg_reduce(x);
    double v = (a.q & 1) ? hg_cos_small(a.r) : hg_sin_small(a.r);
    return (a.q & 2) ? -v : v;
}
METAL_FUNC double hg_cos_f64(double x) {
    if (!(hg_abs_f64(x) < __builtin_inf())) return __builtin_nan("");
    hg_angle a = hg_reduce(x);
    double v = (a.q & 1) ? hg_sin_small(a.r) : hg_cos_small(a.r);
    return ((a.q + 1) & 2) ? -v : v;
}
METAL_FUNC double hg_tan_f64(double x) {
    if (!(hg_abs_f64(x) < __builtin_inf())) return __builtin_nan("");
    hg_angle a = hg_reduce(x);
    double s = hg_sin_small(a.r), c = hg_cos_small(a.r);
    return (a.q & 1) ? -c / s : s / c;
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
// `power`, the text of which stands after this one.
#define HG_POWER 1
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
HG_MATH(log) HG_MATH(log2) HG_MATH(log10) HG_MATH(sin) HG_MATH(cos) HG_MATH(tan)
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
