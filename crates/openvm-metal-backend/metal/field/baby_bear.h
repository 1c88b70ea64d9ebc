#pragma once
// BabyBear, p = 15 * 2^27 + 1, in Montgomery form (R = 2^32): the same bits as p3's `BabyBear`.
//
// `FpT<U>` is one element (U = uint) or W elements in lockstep (U = uint_l). `Fp` is the memory type,
// `FpL` the lane type; on GPUs and in scalar builds they are the same type. Values are always reduced.
// Costs below count 32-bit instructions per element on a GPU: `wide` is a full 32x32->64 product.
#include <metal_stdlib>
#include <lanes.h>
using namespace metal;

template <typename U>
struct FpT {
    U v;
    FpT() = default;
    constexpr explicit FpT(U x) : v(x) {}
};
typedef FpT<uint> Fp;
typedef FpT<uint_l> FpL;

constant constexpr uint FP_P = 0x78000001u;
constant constexpr uint FP_MU = 0x88000001u;   // p^-1 mod 2^32
constant constexpr uint FP_ONE = 0x0ffffffeu;  // 2^32 mod p
constant constexpr uint FP_R2 = 0x45dddde3u;   // 2^64 mod p
constant constexpr uint FP_W11 = 0x37ffffe9u;  // 11 in Montgomery form
constant constexpr uint FP_TWO_ADICITY = 27u;

// ---- Montgomery product and the wide accumulator -------------------------------------------------
// An accumulator holds a sum of at most 4 products of reduced elements: 4 (p-1)^2 < 2^64.

/// a * b * 2^-32 mod p: 2 wide + 1 low product, 3 additions.
inline uint fp_mont_mul(uint a, uint b) {
    ulong t = ulong(a) * ulong(b);
    uint m = uint(t) * FP_MU;
    uint r = uint(t >> 32) - uint((ulong(m) * ulong(FP_P)) >> 32);
    return min(r, r + FP_P);
}
template <typename U> struct FpAccOf { typedef ulong T; };
inline ulong fp_acc_mul(uint a, uint b) { return ulong(a) * ulong(b); }
inline ulong fp_acc_mad(ulong acc, uint a, uint b) { return acc + ulong(a) * ulong(b); }
/// acc * 2^-32 mod p for acc < 4 p^2: 1 wide + 1 low product, 5 additions.
inline uint fp_acc_reduce(ulong acc) {
    uint m = uint(acc) * FP_MU;
    uint hi = uint(acc >> 32);
    hi = min(hi, hi - FP_P);
    uint r = hi - uint((ulong(m) * ulong(FP_P)) >> 32);
    return min(r, r + FP_P);
}

#if MSL_LANES > 1
// Lane accumulators keep even and odd lanes apart: x86 has one 32x32->64 product, of even lanes.
typedef ulong fp_half_l __attribute__((ext_vector_type(MSL_LANES / 2)));
struct FpAccL { fp_half_l e, o; };
template <> struct FpAccOf<uint_l> { typedef FpAccL T; };

#if MSL_LANES == 16
#define FP_LANES_ODD(x, y) __builtin_shufflevector(x, y, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31)
#elif MSL_LANES == 8
#define FP_LANES_ODD(x, y) __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15)
#elif MSL_LANES == 4
#define FP_LANES_ODD(x, y) __builtin_shufflevector(x, y, 1, 5, 3, 7)
#else
#error "MSL_LANES must be 1, 4, 8 or 16"
#endif
#if defined(__x86_64__)
// Keeps the compiler from turning a product of zero-extended halves into the slower full multiply.
#define FP_OPAQUE(x) __asm__("" : "+x"(x))
#if MSL_LANES == 16
#undef FP_OPAQUE
#define FP_OPAQUE(x) __asm__("" : "+v"(x))
#endif
#else
#define FP_OPAQUE(x)
#endif

inline fp_half_l fp_lo_half(fp_half_l x) { return x & (fp_half_l)0xffffffffull; }
inline FpAccL fp_acc_mul(uint_l a, uint_l b) {
    fp_half_l ae = __builtin_bit_cast(fp_half_l, a), be = __builtin_bit_cast(fp_half_l, b);
    FpAccL r;
    r.e = fp_lo_half(ae) * fp_lo_half(be);
    r.o = (ae >> 32) * (be >> 32);
    return r;
}
inline FpAccL fp_acc_mad(FpAccL acc, uint_l a, uint_l b) {
    FpAccL t = fp_acc_mul(a, b);
    acc.e += t.e;
    acc.o += t.o;
    return acc;
}
// High words of acc and of (acc * MU mod 2^32) * p.
inline void fp_acc_parts(FpAccL acc, thread uint_l& hi, thread uint_l& u) {
    fp_half_l me = fp_lo_half(acc.e) * (fp_half_l)(ulong)FP_MU, mo = fp_lo_half(acc.o) * (fp_half_l)(ulong)FP_MU;
    FP_OPAQUE(me);
    FP_OPAQUE(mo);
    fp_half_l ue = fp_lo_half(me) * (fp_half_l)(ulong)FP_P, uo = fp_lo_half(mo) * (fp_half_l)(ulong)FP_P;
    hi = FP_LANES_ODD(__builtin_bit_cast(uint_l, acc.e), __builtin_bit_cast(uint_l, acc.o));
    u = FP_LANES_ODD(__builtin_bit_cast(uint_l, ue), __builtin_bit_cast(uint_l, uo));
}
inline uint_l fp_acc_reduce(FpAccL acc) {
    uint_l hi, u;
    fp_acc_parts(acc, hi, u);
    hi = min(hi, hi - FP_P);
    uint_l r = hi - u;
    return min(r, r + FP_P);
}
inline uint_l fp_mont_mul(uint_l a, uint_l b) {
    uint_l hi, u;
    fp_acc_parts(fp_acc_mul(a, b), hi, u);
    uint_l r = hi - u;
    return min(r, r + FP_P);
}
#endif

// ---- operators -----------------------------------------------------------------------------------
template <typename U> inline FpT<U> operator+(FpT<U> a, FpT<U> b) { U r = a.v + b.v; return FpT<U>(min(r, r - FP_P)); }
template <typename U> inline FpT<U> operator-(FpT<U> a, FpT<U> b) { U r = a.v - b.v; return FpT<U>(min(r, r + FP_P)); }
template <typename U> inline FpT<U> operator-(FpT<U> a) { U r = (U)0u - a.v; return FpT<U>(min(r, r + FP_P)); }
template <typename U> inline FpT<U> operator*(FpT<U> a, FpT<U> b) { return FpT<U>(fp_mont_mul(a.v, b.v)); }

#if MSL_LANES > 1
inline FpL fp_lanes(Fp a) { return FpL((uint_l)a.v); }
inline FpL fp_lanes(FpL a) { return a; }
inline FpL operator+(FpL a, Fp b) { return a + fp_lanes(b); }
inline FpL operator+(Fp a, FpL b) { return fp_lanes(a) + b; }
inline FpL operator-(FpL a, Fp b) { return a - fp_lanes(b); }
inline FpL operator-(Fp a, FpL b) { return fp_lanes(a) - b; }
inline FpL operator*(FpL a, Fp b) { return a * fp_lanes(b); }
inline FpL operator*(Fp a, FpL b) { return fp_lanes(a) * b; }
#else
/// Broadcast to all lanes.
inline FpL fp_lanes(Fp a) { return a; }
#endif

/// Lane constants: `fp_zero<uint_l>()` or `fp_zero<uint>()`.
template <typename U> inline FpT<U> fp_zero() { return FpT<U>((U)0u); }
template <typename U> inline FpT<U> fp_one() { return FpT<U>((U)FP_ONE); }
template <typename U> inline FpT<U> fp_double(FpT<U> a) { return a + a; }
template <typename U> inline FpT<U> fp_square(FpT<U> a) { return a * a; }
template <typename U> inline FpT<U> fp_halve(FpT<U> a) {
    return FpT<U>((a.v >> 1) + (((U)0u - (a.v & 1u)) & ((FP_P + 1u) >> 1)));
}
/// a * 2^-K for K <= 27, by shifts: 2^-K = -15 * 2^(27-K) mod p.
template <uint K, typename U> inline FpT<U> fp_div_2exp(FpT<U> a) {
    U hi = a.v >> K, lo = a.v & ((1u << K) - 1u);
    U r = hi - (((lo << 4) - lo) << (27u - K));
    return FpT<U>(min(r, r + FP_P));
}
/// a * b + c * d with one reduction.
template <typename U> inline FpT<U> fp_dot2(FpT<U> a, FpT<U> b, FpT<U> c, FpT<U> d) {
    return FpT<U>(fp_acc_reduce(fp_acc_mad(fp_acc_mul(a.v, b.v), c.v, d.v)));
}
/// Canonical integer (any 32-bit value) to Montgomery form and back.
template <typename U> inline FpT<U> fp_from_u32(U x) { return FpT<U>(fp_mont_mul(x, (U)FP_R2)); }
template <typename U> inline U fp_to_u32(FpT<U> a) { return fp_mont_mul(a.v, (U)1u); }
/// b^e, e uniform over lanes: up to 2 log2(e) products.
template <typename U> inline FpT<U> fp_pow(FpT<U> b, uint e) {
    FpT<U> r = fp_one<U>();
    while (e != 0u) {
        if ((e & 1u) != 0u) r = r * b;
        b = b * b;
        e >>= 1;
    }
    return r;
}
template <typename U> inline FpT<U> fp_pow_2exp(FpT<U> b, uint k) {
    for (uint i = 0; i < k; i++) b = b * b;
    return b;
}
/// a^-1 (0 for 0): a^(p-2), p - 2 = 0b1110111_1..1 (27 low bits set), 37 products.
template <typename U> inline FpT<U> fp_inv(FpT<U> a) {
    FpT<U> a3 = (a * a) * a;                               // 2 bits
    FpT<U> a7 = (a3 * a3) * a;                             // 3
    FpT<U> a63 = fp_pow_2exp(a7, 3) * a7;                  // 6
    FpT<U> a12 = fp_pow_2exp(a63, 6) * a63;                // 12
    FpT<U> a24 = fp_pow_2exp(a12, 12) * a12;               // 24
    FpT<U> a27 = fp_pow_2exp(a24, 3) * a7;                 // 27 ones
    FpT<U> top = fp_pow_2exp(a7, 1);                       // 0b1110
    return fp_pow_2exp(top, 27) * a27;                     // 0b1110 << 27 | ones
}

// ---- memory --------------------------------------------------------------------------------------
/// Lane k gets p[i.base + k * i.step].
inline FpL lane_load(device const Fp* p, index_l i) { return FpL(lane_load((device const uint*)p, i)); }
inline void lane_store(device Fp* p, index_l i, FpL v) { lane_store((device uint*)p, i, v.v); }

// ---- across lanes --------------------------------------------------------------------------------
/// Sum over the simdgroup, in every lane; `width` = threads_per_simdgroup.
template <typename U> inline FpT<U> fp_simd_sum(FpT<U> x, uint width) {
    for (uint m = width >> 1; m > 0u; m >>= 1) x = x + FpT<U>(simd_shuffle_xor(x.v, ushort(m)));
    return x;
}
/// The value of the first lane (of this thread on GPUs).
#if MSL_LANES > 1
inline Fp fp_lane_first(FpL x) { return Fp(x.v[0]); }
#else
inline Fp fp_lane_first(FpL x) { return x; }
#endif
