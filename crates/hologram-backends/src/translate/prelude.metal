// Functions that translated programs call. Text of this file stands before the kernels of every unit.
//
// Memory: hg_ld* and hg_st* access device memory and hg_lds* and hg_sts* threadgroup memory, little-endian, at any
// offset. Integers wrap; division by zero is tested by the caller. Floats are never contracted or reordered.
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp contract(off)
#define HG_DOUBLE (MSL_HOST || MSL_PTX)
#ifndef HG_SOFT_MATH
#define HG_SOFT_MATH 0
#endif
// What is rarely run, or long, stays a function: kernels compile three times sooner.
#define HG_FAR static __attribute__((noinline))

// Fault record: word 0 is the smallest faulting lane, word 1 the number of records, records begin at word 4:
// lane, code, pc, unused, then three 64-bit details. A lane records itself only if it is the smallest so far.
#define HG_FAULTS 4096u
HG_FAR void hg_fault(device atomic_uint* f, uint lane, uint code, uint pc, ulong a, ulong b, ulong c) {
    uint old = atomic_fetch_min_explicit(f, lane, memory_order_relaxed);
    if (lane < old) {
        uint n = atomic_fetch_add_explicit(f + 1, 1u, memory_order_relaxed);
        // What is overwritten is of larger lanes: they came thousands of records earlier.
        device uint* r = (device uint*)f + (4 + 10 * (n % HG_FAULTS));
        r[0] = lane; r[1] = code; r[2] = pc; r[3] = 0;
        r[4] = (uint)a; r[5] = (uint)(a >> 32); r[6] = (uint)b; r[7] = (uint)(b >> 32); r[8] = (uint)c; r[9] = (uint)(c >> 32);
    }
}

// The fault of instruction `start + j` of a block that began after `n` steps of a budget of B.
HG_FAR void hg_fault_at(device atomic_uint* f, uint lane, ulong n, ulong B, uint j, uint start, uint code, ulong a, ulong b, ulong c) {
    if (n + j >= B) hg_fault(f, lane, 13u, start + (uint)(B - n), 0, 0, 0);
    else hg_fault(f, lane, code, start + j, a, b, c);
}

// Whether the host wants the program to end, and the steps at which a lane of n looks again: at most the budget.
METAL_FUNC bool hg_stopped(device const atomic_uint* q) { return atomic_load_explicit(q, memory_order_relaxed) != 0u; }
METAL_FUNC ulong hg_mark(ulong n, ulong B, ulong steps) { return B > n && B - n > steps ? n + steps : B; }

METAL_FUNC bool hg_out(ulong o, ulong size, ulong width) { return o > size || size - o < width; }

// Loads and stores of `m[o]` and the bytes behind it. What is aligned goes at once: `place` says so, the address in device memory
// and the offset in threadgroup memory, which begins at a multiple of 16 (a threadgroup pointer converts to no number).
#if MSL_HOST
#define HG_MEMORY(ld, st, space, place) \
    METAL_FUNC uchar ld##1(space const uchar* m, ulong o) { return m[o]; } \
    METAL_FUNC ushort ld##2(space const uchar* m, ulong o) { ushort v; __builtin_memcpy(&v, m + o, 2); return v; } \
    METAL_FUNC uint ld##4(space const uchar* m, ulong o) { uint v; __builtin_memcpy(&v, m + o, 4); return v; } \
    METAL_FUNC ulong ld##8(space const uchar* m, ulong o) { ulong v; __builtin_memcpy(&v, m + o, 8); return v; } \
    METAL_FUNC void st##1(space uchar* m, ulong o, uchar v) { m[o] = v; } \
    METAL_FUNC void st##2(space uchar* m, ulong o, ushort v) { __builtin_memcpy(m + o, &v, 2); } \
    METAL_FUNC void st##4(space uchar* m, ulong o, uint v) { __builtin_memcpy(m + o, &v, 4); } \
    METAL_FUNC void st##8(space uchar* m, ulong o, ulong v) { __builtin_memcpy(m + o, &v, 8); }
#else
#define HG_MEMORY(ld, st, space, place) \
    METAL_FUNC uchar ld##1(space const uchar* m, ulong o) { return m[o]; } \
    METAL_FUNC ushort ld##2(space const uchar* m, ulong o) { \
        if ((place & 1) == 0) return *(space const ushort*)(m + o); \
        return (ushort)(m[o] | (uint)m[o + 1] << 8); } \
    METAL_FUNC uint ld##4(space const uchar* m, ulong o) { \
        if ((place & 3) == 0) return *(space const uint*)(m + o); \
        return m[o] | (uint)m[o + 1] << 8 | (uint)m[o + 2] << 16 | (uint)m[o + 3] << 24; } \
    METAL_FUNC ulong ld##8(space const uchar* m, ulong o) { \
        if ((place & 7) == 0) return *(space const ulong*)(m + o); \
        return ld##4(m, o) | (ulong)ld##4(m, o + 4) << 32; } \
    METAL_FUNC void st##1(space uchar* m, ulong o, uchar v) { m[o] = v; } \
    METAL_FUNC void st##2(space uchar* m, ulong o, ushort v) { \
        if ((place & 1) == 0) { *(space ushort*)(m + o) = v; return; } \
        m[o] = (uchar)v; m[o + 1] = (uchar)(v >> 8); } \
    METAL_FUNC void st##4(space uchar* m, ulong o, uint v) { \
        if ((place & 3) == 0) { *(space uint*)(m + o) = v; return; } \
        m[o] = (uchar)v; m[o + 1] = (uchar)(v >> 8); m[o + 2] = (uchar)(v >> 16); m[o + 3] = (uchar)(v >> 24); } \
    METAL_FUNC void st##8(space uchar* m, ulong o, ulong v) { \
        if ((place & 7) == 0) { *(space ulong*)(m + o) = v; return; } \
        st##4(m, o, (uint)v); st##4(m, o + 4, (uint)(v >> 32)); }
#endif
HG_MEMORY(hg_ld, hg_st, device, (ulong)(m + o))
HG_MEMORY(hg_lds, hg_sts, threadgroup, o)

// A handle that is known only when the lane runs: offset and size in the arena. Handle 0 is the boundary pool, the last
// 96 are its classes. Entry k of the table is {offset, size, handle} of the handle whose low half is first + k.
struct hg_span { ulong at, size; };
HG_FAR hg_span hg_find_pool(device const ulong* table, ulong first, ulong entries, ulong h) {
    hg_span s;
    s.at = ~0ul;
    s.size = 0;
    const ulong k = (h & 0xfffffffful) - first;
    if (k < entries && table[3 * k + 2] == h) {
        s.at = table[3 * k];
        s.size = table[3 * k + 1];
    }
    return s;
}

HG_FAR hg_span hg_find(device const ulong* table, ulong first, ulong entries, ulong pool, ulong h) {
    hg_span s;
    s.at = ~0ul;
    s.size = 0;
    if (h == 0) {
        s.at = pool;
        s.size = 1179648;
    } else if (h > ~0ul - 96) {
        s.at = pool + (h - (~0ul - 95)) * 12288;
        s.size = 12288;
    } else {
        s = hg_find_pool(table, first, entries, h);
    }
    return s;
}

METAL_FUNC void hg_fence() {
#if MSL_PTX
    __nvvm_membar_sys();
#elif MSL_HOST
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

METAL_FUNC uchar hg_mirror(uchar c) { return c >= 96 ? (uchar)255 : (c / 3) % 2 == 0 ? (uchar)(c + 3) : (uchar)(c - 3); }
struct hg_pair { uint x, y; };
// Neighbour `index`, ascending, and the number of neighbours of a class.
HG_FAR hg_pair hg_neighbours(uchar class_, uint index) {
    hg_pair r;
    r.x = 0;
    r.y = 0;
    const uint c = class_;
    if (c >= 96) return r;
    for (uint w = 48; w >= 6; w /= 2)
        if ((c / w) % 2 == 1) { if (r.y == index) r.x = c - w; r.y += 1; }
    if (c % 3 > 0) { if (r.y == index) r.x = c - 1; r.y += 1; }
    if (c % 3 < 2) { if (r.y == index) r.x = c + 1; r.y += 1; }
    for (uint w = 6; w <= 48; w *= 2)
        if ((c / w) % 2 == 0) { if (r.y == index) r.x = c + w; r.y += 1; }
    return r;
}

template <class T> METAL_FUNC T hg_min_int(T a, T b) { return b < a ? b : a; }
template <class T> METAL_FUNC T hg_max_int(T a, T b) { return b > a ? b : a; }

METAL_FUNC float hg_bf(ushort b) { return as_type<float>((uint)b << 16); }
METAL_FUNC ushort hg_to_bf(float x) {
    uint b = as_type<uint>(x);
    if ((b & 0x7fffffffu) > 0x7f800000u) return (ushort)((b >> 16) | 0x40u);
    return (ushort)((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
}

// Integers to narrow floats, rounded once: what is too large for f16 stays too large; bits that f32 lacks are gathered in its last.
METAL_FUNC ushort hg_f16_u64(ulong x) { return as_type<ushort>((half)(float)(uint)(x < 131072ul ? x : 131072ul)); }
METAL_FUNC ushort hg_f16_i64(long x) { return x < 0 ? (ushort)(hg_f16_u64(0 - (ulong)x) | 0x8000u) : hg_f16_u64((ulong)x); }
HG_FAR ushort hg_bf16_u64(ulong x) {
    ulong sticky = 0;
    uint shift = 0;
    while (x >= 16777216ul) { sticky |= x & 255ul; x >>= 8; shift += 8; }
    // Less than 2^24 but at least 2^16: two more bits than bf16 has, and the rest in the last one.
    float f = (float)(uint)(x | (sticky != 0 ? 1ul : 0ul));
    return hg_to_bf(f * as_type<float>((127u + shift) << 23));
}
METAL_FUNC ushort hg_bf16_i64(long x) { return x < 0 ? (ushort)(hg_bf16_u64(0 - (ulong)x) | 0x8000u) : hg_bf16_u64((ulong)x); }

// Truncates, saturates, NaN gives 0. LO and HI are the first values that do not fit below and above.
#define HG_TO_INT(name, I, F, LOW, HI, MINIMUM, MAXIMUM) \
    METAL_FUNC I name(F x) { return x != x ? (I)0 : x <= (F)(LOW) ? (I)(MINIMUM) : x >= (F)(HI) ? (I)(MAXIMUM) : (I)x; }
#define HG_TO_INTS(s, F) \
    HG_TO_INT(hg_i8_##s, char, F, -128.0f, 128.0f, -128, 127) \
    HG_TO_INT(hg_i16_##s, short, F, -32768.0f, 32768.0f, -32768, 32767) \
    HG_TO_INT(hg_i32_##s, int, F, -2147483648.0f, 2147483648.0f, 0x80000000u, 0x7fffffff) \
    HG_TO_INT(hg_i64_##s, long, F, -9223372036854775808.0f, 9223372036854775808.0f, 0x8000000000000000ul, 0x7ffffffffffffffful) \
    HG_TO_INT(hg_u8_##s, uchar, F, 0.0f, 256.0f, 0, 255) \
    HG_TO_INT(hg_u16_##s, ushort, F, 0.0f, 65536.0f, 0, 65535) \
    HG_TO_INT(hg_u32_##s, uint, F, 0.0f, 4294967296.0f, 0, 0xffffffffu) \
    HG_TO_INT(hg_u64_##s, ulong, F, 0.0f, 18446744073709551616.0f, 0, 0xfffffffffffffffful)
HG_TO_INTS(f32, float)

// A NaN yields the other operand, equal operands the first.
#define HG_MINMAX(s, F) \
    METAL_FUNC F hg_min_##s(F a, F b) { return a != a ? b : b < a ? b : a; } \
    METAL_FUNC F hg_max_##s(F a, F b) { return a != a ? b : b > a ? b : a; }
HG_MINMAX(f32, float)
METAL_FUNC float hg_abs_f32(float x) { return as_type<float>(as_type<uint>(x) & 0x7fffffffu); }
METAL_FUNC float hg_neg_f32(float x) { return as_type<float>(as_type<uint>(x) ^ 0x80000000u); }

#if HG_DOUBLE
HG_TO_INTS(f64, double)
HG_MINMAX(f64, double)
// To f32 with the last bit set if anything was lost, so that rounding again is right.
METAL_FUNC float hg_to_odd(double x) {
    float f = (float)x;
    if ((double)f == x || x != x) return f;
    uint b = as_type<uint>(f);
    if ((b & 1u) == 0) {
        double a = x < 0 ? -x : x, g = f < 0 ? -(double)f : (double)f;
        b = g > a ? b - 1 : b + 1;
    }
    return as_type<float>(b);
}
METAL_FUNC ushort hg_f16_f64(double x) { return as_type<ushort>((half)hg_to_odd(x)); }
METAL_FUNC ushort hg_bf16_f64(double x) { return hg_to_bf(hg_to_odd(x)); }
METAL_FUNC double hg_abs_f64(double x) { return as_type<double>(as_type<ulong>(x) & 0x7ffffffffffffffful); }
METAL_FUNC double hg_neg_f64(double x) { return as_type<double>(as_type<ulong>(x) ^ 0x8000000000000000ul); }
METAL_FUNC double hg_fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
METAL_FUNC double hg_sqrt_f64(double x) { return __builtin_sqrt(x); }
#endif
METAL_FUNC float hg_fma_f32(float a, float b, float c) { return fma(a, b, c); }
METAL_FUNC float hg_sqrt_f32(float x) { return precise::sqrt(x); }

#if MSL_HOST && !HG_SOFT_MATH
#define HG_MATH(name) \
    METAL_FUNC float hg_##name##_f32(float x) { return __builtin_##name##f(x); } \
    METAL_FUNC double hg_##name##_f64(double x) { return __builtin_##name(x); }
HG_MATH(exp) HG_MATH(log) HG_MATH(log2) HG_MATH(log10) HG_MATH(sin) HG_MATH(cos) HG_MATH(tan) HG_MATH(tanh)
METAL_FUNC float hg_pow_f32(float x, float y) { return __builtin_powf(x, y); }
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

// Steps of expressions that no instruction is. Of a number and a NaN the NaN.
template <class T> METAL_FUNC T hg_minimum(T a, T b) { return a != a ? a : b < a || b != b ? b : a; }
template <class T> METAL_FUNC T hg_maximum(T a, T b) { return a != a ? a : b > a || b != b ? b : a; }
// Quotient rounded down, and the rest with the divisor's sign; by zero 0.
template <class T> METAL_FUNC T hg_remainder(T a, T b) {
    if (b == T(0) || (T(-1) < T(0) && b == T(-1))) return T(0);
    const T r = T(a - T(a / b) * b);
    return r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r;
}
template <class T> METAL_FUNC T hg_floor_div(T a, T b) {
    if (b == T(0)) return T(0);
    if (T(-1) < T(0) && b == T(-1)) return T(0 - (ulong)a);
    const T q = T(a / b), r = T(a - q * b);
    return r != T(0) && (r < T(0)) != (b < T(0)) ? T(q - T(1)) : q;
}
#if HG_DOUBLE
#define HG_ROUNDED(name, builtin) \
    METAL_FUNC float hg_##name##_f32(float x) { return __builtin_##builtin##f(x); } \
    METAL_FUNC double hg_##name##_f64(double x) { return __builtin_##builtin(x); }
HG_ROUNDED(ceil, ceil) HG_ROUNDED(floor, floor) HG_ROUNDED(trunc, trunc) HG_ROUNDED(round, rint)
#else
METAL_FUNC float hg_ceil_f32(float x) { return ceil(x); }
METAL_FUNC float hg_floor_f32(float x) { return floor(x); }
METAL_FUNC float hg_trunc_f32(float x) { return trunc(x); }
METAL_FUNC float hg_round_f32(float x) { return rint(x); }
#endif
// x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3); 0 at minus infinity.
METAL_FUNC float hg_gelu_f32(float x) {
    float u = 0.79788456f * x * (1.0f + 0.044715f * x * x);
    return x < 0.0f && x - x != 0.0f ? -0.0f : x / (1.0f + hg_exp_f32(-2.0f * u));
}
#if HG_DOUBLE
METAL_FUNC double hg_gelu_f64(double x) {
    double u = 0.79788456080286536 * x * (1.0 + 0.044715 * x * x);
    return x < 0.0 && x - x != 0.0 ? -0.0 : x / (1.0 + hg_exp_f64(-2.0 * u));
}
#endif

// Aligned values of any width at byte `o`.
template <class T> METAL_FUNC T hg_at(device const uchar* m, ulong o) {
#if MSL_HOST
    T v;
    __builtin_memcpy(&v, m + o, sizeof(T));
    return v;
#else
    return *(device const T*)(m + o);
#endif
}
template <class T> METAL_FUNC void hg_put(device uchar* m, ulong o, T v) {
#if MSL_HOST
    __builtin_memcpy(m + o, &v, sizeof(T));
#else
    *(device T*)(m + o) = v;
#endif
}

// An element as a number in the order of elements, and with its index in one word: the largest word is the first largest element.
// A NaN is the largest, and after `hg_lowest` the smallest. Zeros are equal.
METAL_FUNC uint hg_order(float x) {
    const uint b = as_type<uint>(x + 0.0f);
    return x != x ? ~0u : (b >> 31) != 0 ? ~b : b | 0x80000000u;
}
METAL_FUNC uint hg_order(int x) { return (uint)x ^ 0x80000000u; }
METAL_FUNC uint hg_order(uint x) { return x; }
METAL_FUNC uint hg_lowest(float x) { return x != x ? ~0u : ~hg_order(x); }
METAL_FUNC uint hg_lowest(int x) { return ~hg_order(x); }
METAL_FUNC uint hg_lowest(uint x) { return ~x; }
METAL_FUNC ulong hg_placed(uint order, ulong index) { return ((ulong)order << 32) | (0xfffffffful - index); }
METAL_FUNC long hg_place(ulong word) { return (long)(0xfffffffful - (word & 0xfffffffful)); }
