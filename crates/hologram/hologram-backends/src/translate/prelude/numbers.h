// Numbers: the least and the largest, conversions, signs.

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
