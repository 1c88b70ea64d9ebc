#pragma once
// BabyBear, p = 15 * 2^27 + 1, in Montgomery form (R = 2^32): the same bits as p3's `BabyBear`.
//
// `FpT<U>` is one element (U = uint) or W elements in lockstep (U = uint_l). `Fp` is the memory type,
// `FpL` the lane type; on GPUs and in scalar builds they are the same type. Values are always reduced, but for sums that say otherwise
// (`fp_add_loose`). They have no constructors, which threadgroup arrays must not have: `Fp{word}`.
// Costs below count 32-bit instructions per element on a GPU: `wide` is a full 32x32->64 product.
#include <metal_stdlib>
#include <lanes.h>
using namespace metal;

template <typename U>
struct FpT {
    U v;
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
// An accumulator holds a sum of at most 4 products of reduced elements: 4 (p-1)^2 < 2^64. On top of a folded value it has room for two:
// folded is below P 2^32, a product below P 2^31, and folding needs a value below 2 P 2^32.

#if MSL_PTX
// NVIDIA GPUs add a 64-bit word to a wide product in one instruction. In t + m p, with m = -t / p mod 2^32, the low
// word is zero: the high word is the quotient, and nothing is subtracted.

/// The high word of t - t / p * p mod 2^32 + p, at most t / 2^32 + p: 1 wide + 1 low product.
inline uint fp_mont_quotient(ulong t) {
    uint m = uint(t) * (0u - FP_MU);
    msl_opaque(m);
    return uint((t + ulong(m) * ulong(FP_P)) >> 32);
}
/// a * b * 2^-32 mod p: 2 wide + 1 low product, 2 additions.
inline uint fp_mont_mul(uint a, uint b) {
    uint r = fp_mont_quotient(ulong(a) * ulong(b));
    return min(r, r - FP_P);
}
#else
/// a * b * 2^-32 mod p: 2 wide + 1 low product, 3 additions.
inline uint fp_mont_mul(uint a, uint b) {
    ulong t = ulong(a) * ulong(b);
    uint m = uint(t) * FP_MU;
    uint r = uint(t >> 32) - uint((ulong(m) * ulong(FP_P)) >> 32);
    return min(r, r + FP_P);
}
#endif
template <typename U> struct FpAccOf { typedef ulong T; };
inline ulong fp_acc_mul(uint a, uint b) { return ulong(a) * ulong(b); }
inline ulong fp_acc_mad(ulong acc, uint a, uint b) { return acc + ulong(a) * ulong(b); }
/// Subtracts P 2^32 if that leaves the value non-negative: 2 additions.
inline ulong fp_acc_fold(ulong acc) {
    uint hi = uint(acc >> 32);
    hi = min(hi, hi - FP_P);
    return (ulong(hi) << 32) | ulong(uint(acc));
}
/// acc * 2^-32 mod p for acc < 4 p^2: 1 wide + 1 low product, 4 or 5 additions.
inline uint fp_acc_reduce(ulong acc) {
    uint hi = uint(acc >> 32);
    hi = min(hi, hi - FP_P);
#if MSL_PTX
    uint r = fp_mont_quotient(ulong(hi) << 32 | ulong(uint(acc)));
    return min(r, r - FP_P);
#else
    uint m = uint(acc) * FP_MU;
    uint r = hi - uint((ulong(m) * ulong(FP_P)) >> 32);
    return min(r, r + FP_P);
#endif
}

#if LANE_WIDTH > 1
// Lane accumulators keep even and odd lanes apart: x86 has one 32x32->64 product, of even lanes.
struct FpAccL { msl_wide e, o; };
template <> struct FpAccOf<uint_l> { typedef FpAccL T; };

inline FpAccL fp_acc_mul(uint_l a, uint_l b) {
    msl_wide x = (msl_wide)a.v, y = (msl_wide)b.v;
    FpAccL r;
    r.e = msl_mul_even(x, y);
    r.o = msl_mul_even(msl_odd_halves(x), msl_odd_halves(y));
    return r;
}
inline FpAccL fp_acc_mad(FpAccL acc, uint_l a, uint_l b) {
    FpAccL t = fp_acc_mul(a, b);
    acc.e += t.e;
    acc.o += t.o;
    return acc;
}
inline msl_wide fp_half_fold(msl_wide x) {
    uint_l v = uint_l::of((uint_l::raw)x), p = uint_l::of((uint_l::raw)(msl_wide{} + ((ulong)FP_P << 32)));
    return (msl_wide)min(v, v - p).v;
}
inline FpAccL fp_acc_fold(FpAccL acc) {
    acc.e = fp_half_fold(acc.e);
    acc.o = fp_half_fold(acc.o);
    return acc;
}
// High words of (acc * MU mod 2^32) * p.
inline uint_l fp_acc_quotient(FpAccL acc) {
    const msl_wide mu = msl_wide{} + (ulong)FP_MU, p = msl_wide{} + (ulong)FP_P;
    msl_wide me = msl_mul_even(acc.e, mu), mo = msl_mul_even(acc.o, mu);
    msl_opaque(me);
    msl_opaque(mo);
    return msl_high_halves(msl_mul_even(me, p), msl_mul_even(mo, p));
}
inline uint_l fp_acc_reduce(FpAccL acc) {
    uint_l hi = msl_high_halves(acc.e, acc.o);
    hi = min(hi, hi - FP_P);
    uint_l r = hi - fp_acc_quotient(acc);
    return min(r, r + FP_P);
}
inline uint_l fp_mont_mul(uint_l a, uint_l b) {
    FpAccL acc = fp_acc_mul(a, b);
    return msl_monty_reduce<FP_P, FP_MU>(acc.e, acc.o);
}
#endif

// ---- operators -----------------------------------------------------------------------------------
template <typename U> inline FpT<U> operator+(FpT<U> a, FpT<U> b) { U r = a.v + b.v; return FpT<U>{min(r, r - FP_P)}; }
template <typename U> inline FpT<U> operator-(FpT<U> a, FpT<U> b) { U r = a.v - b.v; return FpT<U>{min(r, r + FP_P)}; }
template <typename U> inline FpT<U> operator-(FpT<U> a) { U r = (U)0u - a.v; return FpT<U>{min(r, r + FP_P)}; }
/// One factor may be any word below 2p.
template <typename U> inline FpT<U> operator*(FpT<U> a, FpT<U> b) { return FpT<U>{fp_mont_mul(a.v, b.v)}; }
/// a + b and a - b as words below 2p, good for nothing but a factor: 1 and 2 additions, and no minimum.
template <typename U> inline FpT<U> fp_add_loose(FpT<U> a, FpT<U> b) { return FpT<U>{a.v + b.v}; }
template <typename U> inline FpT<U> fp_sub_loose(FpT<U> a, FpT<U> b) { return FpT<U>{a.v - b.v + FP_P}; }

/// A factor of many products (Shoup's method): w in canonical form, and floor(w 2^32 / p).
struct FpFactor { uint w, quotient; };
/// From Montgomery form v = w 2^32 - quotient p: 1 wide and 1 low product.
inline FpFactor fp_factor(Fp v) {
    uint quotient = v.v * (0u - FP_MU);
    return FpFactor{uint((ulong(v.v) + ulong(quotient) * ulong(FP_P)) >> 32), quotient};
}
/// a * w mod p, for any word a: 1 high and 2 low products, 2 additions. The quotient is right or one too small.
inline Fp operator*(Fp a, FpFactor f) {
    uint r = a.v * f.w - uint(ulong(a.v) * ulong(f.quotient) >> 32) * FP_P;
    return Fp{min(r, r - FP_P)};
}

#if LANE_WIDTH > 1
inline FpL fp_lanes(Fp a) { return FpL{uint_l(a.v)}; }
inline FpL fp_lanes(FpL a) { return a; }
inline FpL operator+(FpL a, Fp b) { return a + fp_lanes(b); }
inline FpL operator+(Fp a, FpL b) { return fp_lanes(a) + b; }
inline FpL operator-(FpL a, Fp b) { return a - fp_lanes(b); }
inline FpL operator-(Fp a, FpL b) { return fp_lanes(a) - b; }
inline FpL operator*(FpL a, Fp b) {
    msl_wide x = (msl_wide)a.v.v, y = msl_wide{} + (ulong)b.v;
    return FpL{msl_monty_reduce<FP_P, FP_MU>(msl_mul_even(x, y), msl_mul_even(msl_odd_halves(x), y))};
}
inline FpL operator*(Fp a, FpL b) { return b * a; }
#else
/// Broadcast to all lanes.
inline FpL fp_lanes(Fp a) { return a; }
#endif

/// Lane constants: `fp_zero<uint_l>()` or `fp_zero<uint>()`.
template <typename U> inline FpT<U> fp_zero() { return FpT<U>{(U)0u}; }
template <typename U> inline FpT<U> fp_one() { return FpT<U>{(U)FP_ONE}; }
template <typename U> inline FpT<U> fp_double(FpT<U> a) { return a + a; }
template <typename U> inline FpT<U> fp_square(FpT<U> a) { return a * a; }
/// a / 2: reduced if a is, and below 2p for any word a.
template <typename U> inline FpT<U> fp_halve(FpT<U> a) {
#if MSL_PTX
    return FpT<U>{(a.v >> 1) + (a.v & 1u) * ((FP_P + 1u) >> 1)};
#else
    return FpT<U>{(a.v >> 1) + (((U)0u - (a.v & 1u)) & ((FP_P + 1u) >> 1))};
#endif
}
/// The K lowest bits of a, times 15 * 2^(27-K).
template <uint K, typename U> inline U fp_low_times(U a) {
    U lo = a & ((1u << K) - 1u);
#if MSL_PTX
    return lo * (15u << (27u - K));
#else
    return ((lo << 4) - lo) << (27u - K);
#endif
}
/// a * 2^-K for K <= 27 as a signed word in (-p, 2^(32-K)), for any word a: 2^-K = -15 * 2^(27-K) mod p.
template <uint K, typename U> inline U fp_div_2exp_signed(U a) { return (a >> K) - fp_low_times<K>(a); }
/// a * 2^-K for K <= 27, by shifts: a is reduced, or K >= 2 and a any word.
template <uint K, typename U> inline FpT<U> fp_div_2exp(FpT<U> a) {
    U r = fp_div_2exp_signed<K>(a.v);
    return FpT<U>{min(r, r + FP_P)};
}
/// a * b + c * d with one reduction.
template <typename U> inline FpT<U> fp_dot2(FpT<U> a, FpT<U> b, FpT<U> c, FpT<U> d) {
    return FpT<U>{fp_acc_reduce(fp_acc_mad(fp_acc_mul(a.v, b.v), c.v, d.v))};
}
/// Canonical integer (any 32-bit value) to Montgomery form and back.
template <typename U> inline FpT<U> fp_from_u32(U x) { return FpT<U>{fp_mont_mul(x, (U)FP_R2)}; }
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
// lane_load(p, i), lane_store(p, i, v): lane k is p[i.base + k * i.step]; see <lanes.h>.
#if LANE_WIDTH > 1
template <> struct lane_type<Fp> { typedef FpL type; };
#endif

// ---- across lanes --------------------------------------------------------------------------------
/// Sum over the simdgroup, in every lane; `width` = threads_per_simdgroup.
template <typename U> inline FpT<U> fp_simd_sum(FpT<U> x, uint width) {
    for (uint m = width >> 1; m > 0u; m >>= 1) x = x + FpT<U>{simd_shuffle_xor(x.v, ushort(m))};
    return x;
}
/// The value of the first lane (of this thread on GPUs).
#if LANE_WIDTH > 1
inline Fp fp_lane_first(FpL x) { return Fp{lane_first(x.v)}; }
#else
inline Fp fp_lane_first(FpL x) { return x; }
#endif
