#pragma once
// The scalar field of BN254, a prime p of 254 bits. An element in memory is eight words of 32 bits, lowest first: the Montgomery form with R = 2^256,
// below p. Kernels compute with nine limbs of 29 bits and R = 2^261 = 169 p. A sum of 18 products of limbs fits into 64 bits, so that a column of a
// product takes no carry from another before it is complete, and values of many times p are factors: sums are reduced rarely.
//
// On CPUs limbs have 64 bits, because products do: even and odd lanes are two halves, each computed by itself.
#include "../field/baby_bear.h"

/// An element in memory.
template <typename U>
struct Bn254NodeT {
    U v[8];
};
typedef Bn254NodeT<uint> Bn254Node;

constant constexpr uint BN_MASK = 0x1fffffffu;
/// The limbs of p. The lowest one is 2^28 + 1, whose negative inverse modulo 2^29 is 2^28 - 1.
constant constexpr uint BN_P[9] = {
    0x10000001u, 0x1f0fac9fu, 0x0e5c2450u, 0x07d090f3u, 0x1585d283u, 0x02db40c0u, 0x00a6e141u, 0x0e5c2634u, 0x0030644eu};
/// 2^261 - p.
constant constexpr uint BN_MINUS_P[9] = {
    0x0fffffffu, 0x00f05360u, 0x11a3dbafu, 0x182f6f0cu, 0x0a7a2d7cu, 0x1d24bf3fu, 0x1f591ebeu, 0x11a3d9cbu, 0x1fcf9bb1u};
/// 2^261 - 32 p.
constant constexpr uint BN_MINUS_32P[9] = {
    0x1fffffe0u, 0x1e0a6c0fu, 0x147b75e0u, 0x05ede191u, 0x0f45af98u, 0x0497e7eau, 0x0b23d7ddu, 0x147b397fu, 0x19f37631u};
/// 2^522 mod p: the product of an integer with it is the Montgomery form.
constant constexpr uint BN_R2[9] = {
    0x05b69bd4u, 0x06170a5au, 0x020cddceu, 0x1db6310bu, 0x0e54d0ffu, 0x1cf855e3u, 0x1c15e103u, 0x07d09161u, 0x000a054au};
/// 2^50 (1 - 2^-20) / (the highest limb of p + 1).
constant constexpr uint BN_QUOTIENT = 0x15291b88u;

/// Keeps a factor a word of 32 bits: as a word of 64 it would take a product of 64 bits.
#if MSL_PTX
#define BN_NARROW(x) msl_opaque(x)
#else
#define BN_NARROW(x)
#endif

#if LANE_WIDTH > 1
typedef msl_wide bn_limb;
typedef msl_wide bn_sum;
inline bn_limb bn_all(uint x) { return msl_wide{} + ulong(x); }
inline bn_sum bn_times(bn_limb a, bn_limb b) { return msl_mul_even(a, b); }
/// The limb below 2^29 whose product with p, added to t, is a multiple of 2^29.
inline bn_limb bn_multiple(bn_sum t) { return ((t << 28) - t) & ulong(BN_MASK); }
inline bn_limb bn_low(bn_sum t) { return t & ulong(BN_MASK); }
inline bn_limb bn_limb_of(bn_sum t) { return t; }
/// Half 0 are the even lanes, half 1 the odd ones.
inline bn_limb bn_half(uint_l x, uint half) { return half == 0u ? (msl_wide)x.v & 0xfffffffful : (msl_wide)x.v >> 32; }
#define BN_HALVES 2u
#define BN_EACH_HALF MSL_ROLLED for (uint n = 0; n < 2u; n++)
#else
typedef uint bn_limb;
typedef ulong bn_sum;
inline uint bn_all(uint x) { return x; }
inline ulong bn_times(uint a, uint b) { return ulong(a) * ulong(b); }
inline uint bn_multiple(ulong t) { return ((uint(t) << 28) - uint(t)) & BN_MASK; }
inline uint bn_low(ulong t) { return uint(t) & BN_MASK; }
inline uint bn_limb_of(ulong t) { return uint(t); }
#define BN_HALVES 1u
#define BN_EACH_HALF MSL_UNROLL for (uint n = 0; n < 1u; n++)
#endif

/// An element. Its value is below 169 p, its limbs but the highest one are below 2^30 where it is a factor.
struct Bn {
    bn_limb v[9];
};

/// a b / R, at most a b / R + p, all limbs below 2^29 but the highest: 171 products of limbs, or 135 of a square.
template <bool SQUARE> inline Bn bn_product(thread const Bn& a, thread const Bn& b) {
    Bn r;
    bn_limb m[9];
    bn_sum t;
    MSL_UNROLL for (uint k = 0; k < 17u; k++) {
        // The column of a b waits for nothing, that of the multiples of p for the column before.
        bn_sum own;
        bool first = true;
        MSL_UNROLL for (uint i = 0; i < 9u; i++) {
            if (k < i || k - i > 8u || (SQUARE && 2u * i > k)) continue;
            bn_sum x = SQUARE && 2u * i < k ? bn_times(a.v[i] + a.v[i], b.v[k - i]) : bn_times(a.v[i], b.v[k - i]);
            own = first ? x : own + x;
            first = false;
        }
        t = k == 0u ? own : t + own;
        MSL_UNROLL for (uint i = 0; i < 9u; i++) {
            if (i < k && k - i < 9u) t += bn_times(m[i], bn_all(BN_P[k - i]));
        }
        if (k < 9u) {
            m[k] = bn_multiple(t);
            BN_NARROW(m[k]);
            t += bn_times(m[k], bn_all(BN_P[0]));
        } else {
            r.v[k - 9u] = bn_low(t);
            BN_NARROW(r.v[k - 9u]);
        }
        t = t >> 29;
    }
    r.v[8] = bn_limb_of(t);
    BN_NARROW(r.v[8]);
    return r;
}

/// Brings limbs below 2^32 to at most 2^29 + 6, but for the highest one.
inline void bn_carry(thread Bn& a) {
    bn_limb below = a.v[0] >> 29;
    a.v[0] = a.v[0] & BN_MASK;
    MSL_UNROLL for (uint i = 1; i < 9u; i++) {
        bn_limb carry = a.v[i] >> 29;
        a.v[i] = i < 8u ? (a.v[i] & BN_MASK) + below : a.v[i] + below;
        below = carry;
    }
}

/// Brings a value below 2^261, with limbs below 2^32, below 1.001 p: 10 products. The quotient q is at most the right one, and if it is not zero then
/// a - q p is 2^233 or more: in a + q (2^261 - p) the bits above 2^261 are q, whatever carries are still to come.
inline void bn_reduce(thread Bn& a) {
    bn_limb q = bn_limb_of(bn_times(a.v[8], bn_all(BN_QUOTIENT)) >> 50);
    BN_NARROW(q);
    bn_sum below = bn_times(q, bn_all(BN_MINUS_P[0])) + a.v[0];
    a.v[0] = bn_low(below);
    MSL_UNROLL for (uint i = 1; i < 9u; i++) {
        bn_sum t = bn_times(q, bn_all(BN_MINUS_P[i])) + a.v[i];
        bn_limb carry = bn_limb_of(below >> 29);
        a.v[i] = i < 8u ? bn_low(t) + carry : bn_low(t + carry);
        below = t;
    }
}

/// a / 32 mod p below p, for a value of at most 32 p: its 32-fold, with all limbs below 2^29.
inline void bn_finish(thread Bn& a) {
    // p is 1 modulo 2^28.
    bn_limb m = (bn_all(0u) - a.v[0]) & 31u;
    BN_NARROW(m);
    bn_sum t = bn_times(m, bn_all(BN_P[0])) + a.v[0];
    a.v[0] = bn_low(t);
    MSL_UNROLL for (uint i = 1; i < 9u; i++) {
        t = (t >> 29) + bn_times(m, bn_all(BN_P[i])) + a.v[i];
        a.v[i] = bn_low(t);
    }
    // It is below 64 p: 32 p is subtracted if that leaves a carry.
    Bn less;
    bn_limb carry = bn_all(0u);
    MSL_UNROLL for (uint i = 0; i < 9u; i++) {
        bn_limb x = a.v[i] + bn_all(BN_MINUS_32P[i]) + carry;
        less.v[i] = x & BN_MASK;
        carry = x >> 29;
    }
    bn_limb take = bn_all(0u) - carry;
    MSL_UNROLL for (uint i = 0; i < 9u; i++) a.v[i] = a.v[i] ^ ((a.v[i] ^ less.v[i]) & take);
}

/// Nine limbs of 29 bits of eight words of 32 bits times 2^SHIFT.
template <uint SHIFT> inline uint_l bn_bits(thread const uint_l* w, uint i) {
    if (i == 0u) return (w[0] << SHIFT) & BN_MASK;
    uint low = 29u * i - SHIFT;
    uint k = low >> 5, s = low & 31u;
    uint_l bits = w[k] >> s;
    if (s > 3u && k < 7u) bits = bits | (w[k + 1u] << (32u - s));
    return bits & BN_MASK;
}
/// Reads the words as an integer, or as the Montgomery form in memory: a value below 32 p then.
template <uint SHIFT> inline void bn_enter(thread const uint_l* w, thread Bn* a) {
    MSL_UNROLL for (uint i = 0; i < 9u; i++) {
        uint_l bits = bn_bits<SHIFT>(w, i);
#if LANE_WIDTH > 1
        a[0].v[i] = bn_half(bits, 0u);
        a[1].v[i] = bn_half(bits, 1u);
#else
        a[0].v[i] = bits;
#endif
    }
}
/// Words of what `bn_finish` made: bit 5 is the lowest one.
inline void bn_leave(thread const Bn* a, thread uint_l* w) {
    uint_l x[9];
    MSL_UNROLL for (uint i = 0; i < 9u; i++) {
#if LANE_WIDTH > 1
        x[i] = uint_l::of((uint_l::raw)(a[0].v[i] | (a[1].v[i] << 32)));
#else
        x[i] = a[0].v[i];
#endif
    }
    MSL_UNROLL for (uint k = 0; k < 8u; k++) {
        uint low = 32u * k + 5u;
        uint i = low / 29u, s = low % 29u;
        uint_l bits = (x[i] >> s) | (x[i + 1u] << (29u - s));
        if (s > 26u) bits = bits | (x[i + 2u] << (58u - s));
        w[k] = bits;
    }
}
/// The integer below p whose Montgomery form the words are.
inline void bn_to_integer(thread uint_l* w) {
    Bn a[BN_HALVES], factor;
    bn_enter<0>(w, a);
    MSL_UNROLL for (uint i = 0; i < 9u; i++) factor.v[i] = bn_all(i == 0u ? 1024u : 0u);
    BN_EACH_HALF {
        a[n] = bn_product<false>(a[n], factor);
        bn_finish(a[n]);
    }
    bn_leave(a, w);
}
