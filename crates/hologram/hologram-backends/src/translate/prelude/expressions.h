// Steps of expressions that no instruction is, and the positions of elements.

// Of a number and a NaN the NaN.
template <class T> METAL_FUNC T hg_minimum(T a, T b) { return a != a ? a : b < a || b != b ? b : a; }
template <class T> METAL_FUNC T hg_maximum(T a, T b) { return a != a ? a : b > a || b != b ? b : a; }
// Quotient rounded down, and the rest with the divisor's sign; by zero 0.
template <class T> METAL_FUNC T hg_remainder(T a, T b) {
    if (b == T(0) || (T(-1) < T(0) && b == T(-1))) return T(0);
    const T r = T(a - hg_quotient(a, b) * b);
    return r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r;
}
template <class T> METAL_FUNC T hg_floor_div(T a, T b) {
    if (b == T(0)) return T(0);
    if (T(-1) < T(0) && b == T(-1)) return T(0 - (ulong)a);
    const T q = hg_quotient(a, b), r = T(a - q * b);
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
METAL_FUNC ulong hg_position_word(uint order, ulong index) { return ((ulong)order << 32) | (0xfffffffful - index); }
METAL_FUNC long hg_position(ulong word) { return (long)(0xfffffffful - (word & 0xfffffffful)); }
