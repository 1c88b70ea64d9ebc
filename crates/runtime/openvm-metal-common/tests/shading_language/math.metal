// Common and mathematical functions of float, half and their vectors.
#include <metal_stdlib>
using namespace metal;

struct Results {
    device uint* out;
    uint differing;
    void put(float x) { *out++ = as_type<uint>(x); }
    void put(half x) { put(float(x)); }
    void put(int x) { *out++ = uint(x); }
    // Vectors may be contracted otherwise.
    template <class T, class V> void put(T x, V v) {
        put(x);
        float a = float(x), b = float(v[1]);
        bool same = a == b || (a != a && b != b) || fabs(a - b) <= (sizeof(T) == 2 ? 2e-3f : 1e-5f) * fmax(1.0f, fabs(a));
        differing += same ? 0 : 1;
    }
};

template <class T> void exact(float f, float g, device uint* out) {
    typedef vec<T, 3> V;
    const T x = T(f), y = T(g), z = T(0.5f);
    V u = V(T(1.25f)), v = V(T(-3.0f)), w = V(z);
    u[1] = x; v[1] = y;
    Results r = {out + 1, 0};
    r.put(fabs(x), fabs(u));
    r.put(abs(x), abs(u));
    r.put(ceil(x), ceil(u));
    r.put(floor(x), floor(u));
    r.put(trunc(x), trunc(u));
    r.put(round(x), round(u));
    r.put(rint(x), rint(u));
    r.put(copysign(x, y), copysign(u, v));
    r.put(fmin(x, y), fmin(u, v));
    r.put(fmax(x, y), fmax(u, y));
    r.put(fdim(x, y), fdim(u, v));
    r.put(fmin3(x, y, z), fmin3(u, v, z));
    r.put(fmax3(x, y, z), fmax3(u, v, w));
    r.put(median3(x, y, z), median3(u, v, z));
    r.put(clamp(x, T(-1.0f), T(2.0f)), clamp(u, T(-1.0f), V(T(2.0f))));
    r.put(saturate(x), saturate(u));
    r.put(step(y, x), step(y, u));
    r.put(sqrt(fabs(x)), sqrt(fabs(u)));
    T whole; V wholes;
    T part = modf(x, whole);
    V parts = modf(u, wholes);
    r.put(part, parts);
    r.put(whole, wholes);
    int e; int3 es;
    T m = frexp(x, e);
    V ms = frexp(u, es);
    r.put(m, ms);
    r.put(e, es);
    r.put(ldexp(m, e), ldexp(ms, es));
    r.put(ldexp(x, 3), ldexp(u, 3));
    r.put(nextafter(x, y), nextafter(u, v));
    r.put(ilogb(x), ilogb(u));
    out[0] = r.differing;
}

template <class T> void close(float f, float g, device uint* out) {
    typedef vec<T, 2> V;
    const T x = T(f), y = T(g), p = fabs(x) + T(0.25f), q = p / T(4.0f);
    const V u = vec<T, 2>(T(1.0f), x), v = vec<T, 2>(T(0.5f), y), a = fabs(u) + T(0.25f), b = a / T(4.0f);
    Results r = {out + 1, 0};
    r.put(sin(x), sin(u));
    r.put(cos(x), cos(u));
    r.put(tan(q), tan(b));
    r.put(asin(q), asin(b));
    r.put(acos(q), acos(b));
    r.put(atan(x), atan(u));
    r.put(atan2(y, x), atan2(v, u));
    r.put(sinh(x), sinh(u));
    r.put(cosh(x), cosh(u));
    r.put(tanh(x), tanh(u));
    r.put(asinh(x), asinh(u));
    r.put(acosh(p + T(1.0f)), acosh(a + T(1.0f)));
    r.put(atanh(q), atanh(b));
    r.put(sinpi(x), sinpi(u));
    r.put(cospi(x), cospi(u));
    r.put(tanpi(q / T(2.0f)), tanpi(b / T(2.0f)));
    r.put(exp(x), exp(u));
    r.put(exp2(x), exp2(u));
    r.put(exp10(x), exp10(u));
    r.put(log(p), log(a));
    r.put(log2(p), log2(a));
    r.put(log10(p), log10(a));
    r.put(pow(p, y), pow(a, v));
    r.put(powr(p, T(2.0f)), powr(a, T(2.0f)));
    r.put(rsqrt(p), rsqrt(a));
    r.put(divide(x, p), divide(u, a));
    r.put(fmod(x, T(0.75f)), fmod(u, 0.75));
    r.put(fract(p), fract(a));
    r.put(fma(x, y, T(1.0f)), fma(u, v, T(1.0f)));
    r.put(mix(x, y, T(0.25f)), mix(u, v, T(0.25f)));
    r.put(smoothstep(T(-1.), T(2.0), x), smoothstep(T(-1e0), T(2.0), u));
    T c; V cs;
    r.put(sincos(x, c), sincos(u, cs));
    r.put(c, cs);
    r.put(precise::exp(x), fast::exp(u));
    out[0] = r.differing;
}
#define KERNEL(name, T, words) \
    kernel void name##_##T(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], \
                           constant uint& n [[buffer(2)]], uint gid [[thread_position_in_grid]]) { \
        if (gid >= n) return; \
        name<T>(as_type<float>(in[2 * gid]), as_type<float>(in[2 * gid + 1]), out + words * gid); \
    }
KERNEL(exact, float, 27) KERNEL(exact, half, 27)
KERNEL(close, float, 35) KERNEL(close, half, 35)

// Bits: what numbers are, one by one and in vectors.
template <class T> uint kinds(float f, float g) {
    typedef vec<T, 4> V;
    const T x = T(f), y = T(g);
    const V u = vec<T, 4>(y, x, y, x), v = V(y);
    uint one = 0, all4 = 0;
    bool4 m;
#define KIND(bit, scalar, vector) \
    one |= uint(scalar) << bit; \
    m = vector; \
    all4 |= uint(m[1] && m.y && m.w) << bit;
    KIND(0, isnan(x), isnan(u))
    KIND(1, isinf(x), isinf(u))
    KIND(2, isfinite(x), isfinite(u))
    KIND(3, isnormal(x), isnormal(u))
    KIND(4, isordered(x, y), isordered(u, v))
    KIND(5, isunordered(x, y), isunordered(u, y))
    KIND(6, signbit(x), signbit(u))
    KIND(7, x < y, u < v)
    KIND(8, !(x < y), not(bool4(u < v)))
    KIND(9, isnan(x) || x > T(1.0f), isnan(u) || u > V(T(1.0f)))
    bool4 less = u < v;
    bool any_less = any(less), all_less = all(less && bool4(true, false, true, true));
    V chosen = select(u, v, less), other = select(u, V(T(7.0f)), isnan(u));
    vec<bool, 4> raw = isnan(u);
    m = raw;
    any_less = any_less && m.y == isnan(x);
    one |= uint(any_less) << 10 | uint(all_less) << 11;
    all4 |= uint(x < y) << 10;
    one |= uint(chosen[3] == (x < y ? y : x)) << 12 | uint(other[1] == select(x, T(7.0f), isnan(x))) << 13;
    return one << 16 | all4;
}
kernel void kinds_of(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                  uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    float x = as_type<float>(in[2 * gid]), y = as_type<float>(in[2 * gid + 1]);
    out[2 * gid] = kinds<float>(x, y);
    out[2 * gid + 1] = kinds<half>(x, y);
}

// What happens at the edges: 2 words a thread are a number and a power, 7 results.
kernel void edges(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                  uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    float x = as_type<float>(in[2 * gid]);
    device uint* to = out + 7 * gid;
    to[0] = as_type<uint>(fract(x));
    to[1] = as_type<uint>(saturate(x));
    to[2] = as_type<uint>(sign(x));
    to[3] = as_type<uint>(ldexp(x, (int)in[2 * gid + 1]));
    to[4] = as_type<uint>((float)fract((half)x));
    to[5] = (uint)abs((int)in[2 * gid]);
    to[6] = as_type<uint>(fract(float2(x, 0.25f)).x);
}
