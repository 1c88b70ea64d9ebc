#pragma once
// Poseidon2 over the scalar field of BN254 on processors that multiply 52-bit integers: five limbs of 52 bits and R = 2^260 = 84 p, even and odd lanes
// as two halves of eight. Limbs lie in words of 64 bits, so that sums take no carries: only factors have limbs below 2^52.
#include "constants.h"
#include "field.h"

#if LANE_WIDTH == 16
constant constexpr ulong BN52_MASK = 0xffffffffffffful;
/// The limbs of p, and -1/p mod 2^52.
constant constexpr ulong BN52_P[5] = {0x1f593f0000001ul, 0x4879b9709143eul, 0x181585d2833e8ul, 0xa029b85045b68ul, 0x030644e72e131ul};
constant constexpr ulong BN52_MU = 0x1f593effffffful;
/// 2^260 - p and 2^260 - 16 p.
constant constexpr ulong BN52_MINUS_P[5] = {0xe0a6c0ffffffful, 0xb786468f6ebc1ul, 0xe7ea7a2d7cc17ul, 0x5fd647afba497ul, 0xfcf9bb18d1eceul};
constant constexpr ulong BN52_MINUS_16P[5] = {0x0a6c0fffffff0ul, 0x786468f6ebc1eul, 0x7ea7a2d7cc17bul, 0xfd647afba497eul, 0xcf9bb18d1ece5ul};
/// 2^520 mod p: the product of an integer with it is the Montgomery form.
constant constexpr ulong BN52_R2[5] = {0x0b852d16da6f5ul, 0xc621620cddce3ul, 0xaf1b95343ffb6ul, 0xc3c15e103e7c2ul, 0x00281528fa122ul};
/// 2^72 (1 - 2^-20) / (the highest limb of p + 1).
constant constexpr ulong BN52_QUOTIENT = 0x54a46f1ul;

/// Round constants: the limbs of c 2^260 mod p.
template <uint N> struct Bn52Constants {
    ulong limb[5 * N];
};
/// Halves c 2^261 mod p, of limbs of 29 bits, modulo p, and cuts it anew.
template <uint W, uint N> constexpr Bn52Constants<N> bn52_constants() {
    Bn52Constants<N> t = {};
    for (uint n = 0; n < N; n++) {
        ulong x[9] = {};
        ulong carry = 0;
        const bool odd = ((W == 3u ? BN_RC3[9u * n] : BN_RC2[9u * n]) & 1u) != 0u;
        for (uint i = 0; i < 9u; i++) {
            carry += ulong(W == 3u ? BN_RC3[9u * n + i] : BN_RC2[9u * n + i]) + (odd ? ulong(BN_P[i]) : 0ul);
            x[i] = carry & ulong(BN_MASK);
            carry >>= 29;
        }
        for (uint bit = 1; bit < 261u; bit++) {
            ulong b = (x[bit / 29u] >> (bit % 29u)) & 1ul;
            t.limb[5u * n + (bit - 1u) / 52u] |= b << ((bit - 1u) % 52u);
        }
    }
    return t;
}
constant constexpr Bn52Constants<80> BN52_RC3 = bn52_constants<3, 80>();
constant constexpr Bn52Constants<62> BN52_RC2 = bn52_constants<2, 62>();

/// An element of eight lanes. As a factor: all limbs below 2^52.
struct Bn52 {
    wide_l v[5];
};
LANE_INLINE_52 wide_l bn52_all(ulong x) { return wide_l{} + x; }

/// Brings all limbs below 2^52, for a value below 2^260.
LANE_INLINE_52 void bn52_carry(thread Bn52& a) {
    MSL_UNROLL for (uint i = 0; i < 4u; i++) {
        a.v[i + 1u] += a.v[i] >> 52;
        a.v[i] &= BN52_MASK;
    }
}
/// t / R with all limbs below 2^52, at most t / R + p: 55 products.
LANE_INLINE_52 Bn52 bn52_quotient(thread wide_l* t) {
    MSL_UNROLL for (uint i = 0; i < 5u; i++) {
        wide_l m = lane_add_low(wide_l{}, t[i], bn52_all(BN52_MU));
        MSL_UNROLL for (uint j = 0; j < 5u; j++) t[i + j] = lane_add_low(t[i + j], m, bn52_all(BN52_P[j]));
        t[i + 1u] += t[i] >> 52;
        MSL_UNROLL for (uint j = 0; j < 5u; j++) t[i + j + 1u] = lane_add_high(t[i + j + 1u], m, bn52_all(BN52_P[j]));
    }
    Bn52 r;
    MSL_UNROLL for (uint i = 0; i < 5u; i++) r.v[i] = t[5u + i];
    bn52_carry(r);
    return r;
}
/// a b / R: 105 products.
LANE_INLINE_52 Bn52 bn52_product(thread const Bn52& a, thread const Bn52& b) {
    wide_l t[10];
    MSL_UNROLL for (uint k = 0; k < 10u; k++) t[k] = wide_l{};
    MSL_UNROLL for (uint i = 0; i < 5u; i++) {
        MSL_UNROLL for (uint j = 0; j < 5u; j++) {
            t[i + j] = lane_add_low(t[i + j], a.v[i], b.v[j]);
            t[i + j + 1u] = lane_add_high(t[i + j + 1u], a.v[i], b.v[j]);
        }
    }
    return bn52_quotient(t);
}
/// a^2 / R: 85 products.
LANE_INLINE_52 Bn52 bn52_square(thread const Bn52& a) {
    wide_l t[10];
    MSL_UNROLL for (uint k = 0; k < 10u; k++) t[k] = wide_l{};
    MSL_UNROLL for (uint i = 0; i < 5u; i++) {
        MSL_UNROLL for (uint j = i + 1u; j < 5u; j++) {
            t[i + j] = lane_add_low(t[i + j], a.v[i], a.v[j]);
            t[i + j + 1u] = lane_add_high(t[i + j + 1u], a.v[i], a.v[j]);
        }
    }
    MSL_UNROLL for (uint k = 1; k < 9u; k++) t[k] += t[k];
    MSL_UNROLL for (uint i = 0; i < 5u; i++) {
        t[2u * i] = lane_add_low(t[2u * i], a.v[i], a.v[i]);
        t[2u * i + 1u] = lane_add_high(t[2u * i + 1u], a.v[i], a.v[i]);
    }
    return bn52_quotient(t);
}
/// Brings a value below 2^260 below 1.001 p, and its limbs below 2^52: 11 products. As `bn_reduce`.
LANE_INLINE_52 void bn52_reduce(thread Bn52& a) {
    wide_l q = lane_add_high(wide_l{}, a.v[4] >> 20, bn52_all(BN52_QUOTIENT));
    wide_l below = wide_l{};
    MSL_UNROLL for (uint i = 0; i < 5u; i++) {
        wide_l t = lane_add_low(a.v[i] + below, q, bn52_all(BN52_MINUS_P[i]));
        below = lane_add_high(t >> 52, q, bn52_all(BN52_MINUS_P[i]));
        a.v[i] = t & BN52_MASK;
    }
}
/// a / 16 mod p below p, for a value of at most 16 p: its 16-fold, with all limbs below 2^52.
LANE_INLINE_52 void bn52_finish(thread Bn52& a) {
    wide_l m = (wide_l{} - a.v[0]) & 15ul;
    wide_l below = wide_l{};
    MSL_UNROLL for (uint i = 0; i < 5u; i++) {
        wide_l t = lane_add_low(a.v[i] + below, m, bn52_all(BN52_P[i]));
        below = lane_add_high(t >> 52, m, bn52_all(BN52_P[i]));
        a.v[i] = t & BN52_MASK;
    }
    Bn52 less;
    wide_l carry = wide_l{};
    MSL_UNROLL for (uint i = 0; i < 5u; i++) {
        wide_l x = a.v[i] + BN52_MINUS_16P[i] + carry;
        less.v[i] = x & BN52_MASK;
        carry = x >> 52;
    }
    wide_l take = wide_l{} - carry;
    MSL_UNROLL for (uint i = 0; i < 5u; i++) a.v[i] ^= (a.v[i] ^ less.v[i]) & take;
}

/// Limbs of 52 bits of a half of eight words of 32 bits times 2^SHIFT.
template <uint SHIFT> LANE_INLINE_52 Bn52 bn52_enter(thread const wide_l* w) {
    Bn52 a;
    MSL_UNROLL for (uint i = 0; i < 5u; i++) {
        wide_l bits = wide_l{};
        MSL_UNROLL for (uint k = 0; k < 8u; k++) {
            const uint at = 32u * k + SHIFT, low = 52u * i;
            if (at + 32u <= low || at >= low + 52u) continue;
            bits |= at >= low ? w[k] << (at - low) : w[k] >> (low - at);
        }
        a.v[i] = bits & BN52_MASK;
    }
    return a;
}
/// Word k of what `bn52_finish` made: bit 4 is the lowest one.
LANE_INLINE_52 wide_l bn52_word(thread const Bn52& a, uint k) {
    const uint i = (32u * k + 4u) / 52u, low = (32u * k + 4u) % 52u;
    wide_l bits = a.v[i] >> low;
    if (low > 20u) bits |= a.v[i + 1u] << (52u - low);
    return bits & 0xfffffffful;
}

template <uint W> LANE_INLINE_52 wide_l bn52_round_constant(uint i) { return bn52_all(W == 3u ? BN52_RC3.limb[i] : BN52_RC2.limb[W == 3u ? 0u : i]); }

/// Does the work of `bn_linear` with limbs of 52 bits.
template <uint W> LANE_INLINE_52 void bn52_linear(thread Bn52* x, bool internal, bool reduces) {
    MSL_UNROLL for (uint i = 0; i < 5u; i++) {
        wide_l sum = x[0].v[i] + x[1].v[i];
        if (W == 3u) sum += x[W - 1u].v[i];
        wide_l last = x[W - 1u].v[i];
        MSL_UNROLL for (uint w = 0; w < W; w++) x[w].v[i] += sum;
        if (internal) x[W - 1u].v[i] += last;
    }
    if (!reduces) return;
    MSL_UNROLL for (uint w = 1; w < W; w++) bn52_reduce(x[w]);
}

/// Does the work of `bn_permute` with limbs of 52 bits. Values have the same bounds: an S-box of at most 13 p is at most 1.2 p.
template <uint W> LANE_TARGET_52 inline void bn_permute_52(thread uint_l* s, uint integers) {
    constexpr uint HALF = W == 3u ? 4u : 3u, PARTIAL = W == 3u ? 56u : 50u;
    Bn52 x[2][W];
    MSL_UNROLL for (uint w = 0; w < W; w++) {
        const bool integer = ((integers >> w) & 1u) != 0u;
        MSL_ROLLED for (uint n = 0; n < 2u; n++) {
            wide_l words[8];
            MSL_UNROLL for (uint k = 0; k < 8u; k++) words[k] = bn_half(s[8u * w + k], n);
            x[n][w] = integer ? bn52_enter<0>(words) : bn52_enter<4>(words);
        }
    }
    if (integers != 0u) {
        Bn52 r2;
        MSL_UNROLL for (uint i = 0; i < 5u; i++) r2.v[i] = bn52_all(BN52_R2[i]);
        MSL_ROLLED for (uint w = 0; w < 2u; w++) {
            if (((integers >> w) & 1u) == 0u) continue;
            MSL_ROLLED for (uint n = 0; n < 2u; n++) x[n][w] = bn52_product(x[n][w], r2);
        }
    }
    MSL_ROLLED for (uint n = 0; n < 2u; n++) {
        MSL_UNROLL for (uint w = 0; w < W; w++) bn52_reduce(x[n][w]);
        bn52_linear<W>(x[n], false, false);
    }
    uint next = 0;
    MSL_ROLLED for (uint r = 0; r < 2u * HALF + PARTIAL; r++) {
        const bool internal = r >= HALF && r < HALF + PARTIAL;
        MSL_ROLLED for (uint b = 0; b < (internal ? 1u : W); b++) {
            Bn52 y[2];
            MSL_UNROLL for (uint n = 0; n < 2u; n++) {
                MSL_UNROLL for (uint i = 0; i < 5u; i++) x[n][b].v[i] += bn52_round_constant<W>(next + i);
                bn52_carry(x[n][b]);
                y[n] = bn52_square(x[n][b]);
            }
            MSL_UNROLL for (uint n = 0; n < 2u; n++) y[n] = bn52_square(y[n]);
            MSL_UNROLL for (uint n = 0; n < 2u; n++) x[n][b] = bn52_product(y[n], x[n][b]);
            next += 5u;
        }
        MSL_ROLLED for (uint n = 0; n < 2u; n++) bn52_linear<W>(x[n], internal, internal && ((r - HALF) & 1u) == 0u);
    }
    MSL_UNROLL for (uint w = 0; w < W; w++) {
        bn52_finish(x[0][w]);
        bn52_finish(x[1][w]);
        MSL_UNROLL for (uint k = 0; k < 8u; k++) s[8u * w + k] = lane_join_words(bn52_word(x[0][w], k), bn52_word(x[1][w], k));
    }
}
#endif
