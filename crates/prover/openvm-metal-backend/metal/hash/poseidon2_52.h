#pragma once
// Poseidon2 of sixteen lanes on processors that multiply 52-bit integers: even and odd lanes are two states of sixteen
// vectors, whose words have 64 bits. With R = 2^52 a product costs three instructions where a factor is used again, and
// leaves a word of at most 2p + a b / R. So nothing is brought below p before the end, and additions are one instruction.
//
// A word of scale s stands for word / s. Memory has scale 2^32 (Montgomery form). The S-box of a word of scale s has
// scale s^7 / R^6: the first four rounds begin with the scales of `p52_scale`, and an S-box leaves scale R as it is.
#include "poseidon2_layers.h"

#if LANE_WIDTH == 16
constant constexpr ulong P52_P = FP_P;
/// -1/p mod R: p (p - 2) + 1 = (15 2^27)^2.
constant constexpr ulong P52_MU = P52_P - 2ul;
/// A multiple of p above whatever is subtracted.
constant constexpr ulong P52_ABOVE = P52_P << 8;

// ---- constants -----------------------------------------------------------------------------------
constexpr ulong p52_mul(ulong a, ulong b) { return a * b % P52_P; }
constexpr ulong p52_pow(ulong a, ulong e) {
    ulong r = 1ul;
    for (; e != 0ul; e >>= 1, a = p52_mul(a, a)) {
        if ((e & 1ul) != 0ul) r = p52_mul(r, a);
    }
    return r;
}
constexpr ulong p52_inv(ulong a) { return p52_pow(a, P52_P - 2ul); }

constant constexpr ulong P52_R = (1ul << 52) % P52_P;
constant constexpr ulong P52_MEMORY = (1ul << 32) % P52_P;
constant constexpr ulong P52_HALF = (P52_P + 1ul) / 2ul;
/// 1 - 1/R: what a product lacks.
constant constexpr ulong P52_LACK = (1ul + P52_P - p52_inv(P52_R)) % P52_P;
/// Scale before the S-boxes of external round r <= 4, the last after those of round 3.
constexpr ulong p52_scale(uint r) {
    ulong s = P52_MEMORY;
    for (uint i = 0; i < r; i++) s = p52_mul(p52_pow(s, 7), p52_inv(p52_pow(P52_R, 6)));
    return s;
}
/// Times it, R times: scale R before the partial rounds.
constant constexpr ulong P52_RESCALE = p52_mul(p52_mul(P52_R, P52_R), p52_inv(p52_scale(4)));
/// The inverse of the circulant (2, 3, 1, 1), first row.
constant constexpr ulong P52_MAT4_INVERSE[4] = {p52_mul(P52_P - 4ul, p52_inv(35)), p52_mul(3, p52_inv(35)),
                                                p52_mul(P52_P - 11ul, p52_inv(35)), p52_mul(17, p52_inv(35))};

#define P52_WORDS(a, b, c, d) a, b, c, d,
constant constexpr uint P52_RC_EXTERNAL[128] = {P2_RC_EXTERNAL_ROWS(P52_WORDS)};
#undef P52_WORDS

/// Round constants. Those of an external round are added before the matrix in front of it, so by the last product of an
/// S-box: the inverse of the matrix takes them there.
struct P52Constants {
    uint first[16];     ///< before the first matrix, scale 2^32
    ulong after[8][16]; ///< added by the S-boxes of round r, with P52_LACK
    ulong middle[16];   ///< after the partial rounds, scale R
    ulong partial[13];  ///< before the S-box of a partial round, scale R
};
constexpr P52Constants p52_constants() {
    P52Constants t = {};
    for (uint r = 0; r < 8u; r++) {
        ulong y[16] = {};
        ulong scale = p52_mul(r < 4u ? p52_scale(r) : P52_R, p52_inv(P52_MEMORY));
        for (uint i = 0; i < 16u; i++) y[i] = p52_mul(uint(P52_RC_EXTERNAL[16u * r + i] + FP_P), scale);
        for (uint i = 0; i < 16u; i++) {
            // The matrix is M4 for each four words, and their sum added to each: five times their sum in all.
            ulong z[4] = {}, x = 0;
            for (uint j = 0; j < 4u; j++) {
                ulong sum = y[j] + y[4u + j] + y[8u + j] + y[12u + j];
                z[j] = y[i / 4u * 4u + j] + P52_P - p52_mul(sum, p52_inv(5));
                x += p52_mul(P52_MAT4_INVERSE[(j - i) & 3u], z[j]);
            }
            if (r == 0u) t.first[i] = uint(x % P52_P);
            else if (r == 4u) t.middle[i] = y[i];
            else t.after[r - 1u][i] = (x + P52_LACK) % P52_P;
            t.after[3][i] = t.after[7][i] = P52_LACK;
        }
    }
    for (uint k = 0; k < 13u; k++) t.partial[k] = p52_mul(uint(P2_RC_INTERNAL[k] + FP_P), p52_mul(P52_R, p52_inv(P52_MEMORY)));
    return t;
}
constant constexpr P52Constants P52 = p52_constants();

// ---- products ------------------------------------------------------------------------------------
LANE_INLINE_52 wide_l p52_all(ulong x) { return wide_l{} + x; }

/// sum + a b / R + 1/R - 1 modulo p, at most sum + a b / R + p, for factors below R and a_mu = a MU mod R: 3 products.
/// The multiple of p that is added has the low bits R - 1 - (a b mod R), so that no carry comes from below.
LANE_INLINE_52 wide_l p52_product(wide_l sum, wide_l a, wide_l a_mu, wide_l b) {
    return lane_add_high(lane_add_high(sum, a, b), lane_add_low(p52_all(P52_MU), a_mu, b), p52_all(P52_P));
}
LANE_INLINE_52 wide_l p52_mu(wide_l a) { return lane_add_low(wide_l{}, a, p52_all(P52_MU)); }
/// sum + C x / R + 1/R - 1: 3 products.
template <ulong C> LANE_INLINE_52 wide_l p52_times(wide_l sum, wide_l x) {
    return p52_product(sum, p52_all(C), p52_all((C * P52_MU) & ((1ul << 52) - 1ul)), x);
}
/// x modulo p below 2p, for x below 2^51: 2 products.
LANE_INLINE_52 wide_l p52_reduce(wide_l x) {
    wide_l quotient = lane_add_high(wide_l{}, x, p52_all((1ul << 52) / P52_P));
    return lane_add_low(x, quotient, p52_all((1ul << 52) - P52_P));
}
/// x[i]^7 / R^6 + after[i] + 1/R - 1: 14 products. At most 1.01 p more than after[i] for x[i] below 2^44, and below 2^39 for those
/// below 2^50. A step is done for all values before the next one.
template <uint N> LANE_INLINE_52 void p52_sevenths(thread wide_l* x, constant ulong* after) {
    wide_l mu[N], y[N];
    const wide_l lack = p52_all(P52_LACK);
    MSL_UNROLL for (uint i = 0; i < N; i++) mu[i] = p52_mu(x[i]);
    MSL_UNROLL for (uint i = 0; i < N; i++) y[i] = p52_product(lack, x[i], mu[i], x[i]);
    MSL_UNROLL for (uint i = 0; i < N; i++) y[i] = p52_product(lack, x[i], mu[i], y[i]);
    MSL_UNROLL for (uint i = 0; i < N; i++) y[i] = p52_product(lack, y[i], p52_mu(y[i]), y[i]);
    MSL_UNROLL for (uint i = 0; i < N; i++) x[i] = p52_product(p52_all(after[i]), x[i], mu[i], y[i]);
}

// ---- layers --------------------------------------------------------------------------------------
/// `p2_mat4`, 9 instructions.
LANE_INLINE_52 void p52_mat4(thread wide_l* x) {
    const wide_l two = p52_all(2);
    wide_l t01 = x[0] + x[1], t23 = x[2] + x[3];
    wide_l t0123 = t01 + t23;
    wide_l t01123 = t0123 + x[1], t01233 = t0123 + x[3];
    x[3] = lane_add_low(t01233, x[0], two);
    x[1] = lane_add_low(t01123, x[2], two);
    x[0] = t01123 + t01;
    x[2] = t01233 + t23;
}
/// `p2_external`, 64 instructions: a sum of 35 words.
LANE_INLINE_52 void p52_external(thread wide_l* s) {
    MSL_UNROLL for (uint i = 0; i < 16u; i += 4u) p52_mat4(s + i);
    wide_l sum[4];
    MSL_UNROLL for (uint k = 0; k < 4u; k++) sum[k] = (s[k] + s[k + 4u]) + (s[k + 8u] + s[k + 12u]);
    MSL_UNROLL for (uint i = 0; i < 16u; i++) s[i] += sum[i & 3u];
}

/// A state in the partial rounds, in scale R: words 1, 2, 10, 11 and 14, and for each pair (a, b) with v and -v on the
/// diagonal e = a + b and `before`, the e of one round earlier: then a - b = v before (see poseidon2.h).
///
/// Words are taken modulo R. What a reduction leaves above R is not a part of a factor, and sums do not bring it down.
struct P52Partial {
    wide_l s1, s2, s10, s11, s14;
    wide_l e[5], before[5];
    wide_l x;    ///< into the S-box
    wide_l box;  ///< out of it
    wide_l tail; ///< the sum of all words but the first
    wide_l sum;  ///< of the round before, for all words
};
constexpr ulong p52_v(uint pair) {
    return pair == 0u ? p52_pow(P52_HALF, 8) : pair == 1u ? P52_HALF : pair == 2u ? p52_pow(P52_HALF, 27) : pair == 3u ? 3ul : 4ul;
}
/// Pair I are words A and B.
template <uint I, uint A, uint B> LANE_INLINE_52 void p52_enter_pair(thread P52Partial& h, thread const wide_l* s) {
    constexpr ulong APART = p52_mul(P52_RESCALE, p52_inv(p52_v(I)));
    h.e[I] = p52_times<P52_RESCALE>(p52_all(P52_LACK), s[A] + s[B]);
    h.before[I] = p52_times<APART>(p52_all(P52_LACK), (s[A] + p52_all(P52_ABOVE)) - s[B]);
}
template <uint I, uint A, uint B> LANE_INLINE_52 void p52_leave_pair(thread const P52Partial& h, thread wide_l* s) {
    constexpr ulong BOTH = p52_mul(P52_R, P52_HALF), APART = p52_mul(BOTH, p52_v(I));
    constexpr ulong C = P52_LACK + p52_mul(P52.middle[A] + P52.middle[B], P52_HALF);
    constexpr ulong D = P52_LACK + p52_mul(P52.middle[A] + P52_P - P52.middle[B], P52_HALF);
    wide_l both = p52_times<BOTH>(p52_all(C % P52_P), h.e[I]), apart = p52_times<APART>(p52_all(D % P52_P), h.before[I]);
    s[A] = both + apart;
    s[B] = (both + p52_all(P52_ABOVE)) - apart;
}
/// A round for pair I: 3 products.
template <uint I> LANE_INLINE_52 void p52_pair(thread P52Partial& h) {
    constexpr ulong SQUARE = p52_mul(p52_mul(p52_v(I), p52_v(I)), P52_R);
    wide_l twice = lane_add_low(p52_all(P52_LACK), h.sum, p52_all(2));
    wide_l next = p52_times<SQUARE>(twice, h.before[I]);
    h.before[I] = h.e[I];
    h.e[I] = next;
}
/// A round for the other words: 10 products.
LANE_INLINE_52 void p52_others(thread P52Partial& h) {
    constexpr ulong Q2 = p52_mul(P52_R, p52_pow(P52_HALF, 2)), Q3 = p52_mul(Q2, P52_HALF);
    constexpr ulong MINUS_Q4 = p52_mul(P52_P - Q3, P52_HALF);
    wide_l once = h.sum + p52_all(P52_LACK);
    h.s1 += h.sum;
    h.s2 = lane_add_low(h.sum, h.s2, p52_all(2));
    h.s10 = p52_times<Q2>(once, h.s10);
    h.s11 = p52_times<Q3>(once, h.s11);
    h.s14 = p52_times<MINUS_Q4>(once, h.s14);
}
LANE_INLINE_52 wide_l p52_tail(thread const P52Partial& h) {
    return (((h.s1 + h.s2) + (h.s10 + h.s11)) + (h.s14 + h.e[0])) + ((h.e[1] + h.e[2]) + (h.e[3] + h.e[4]));
}
/// After an S-box: what the next one takes, with its constant, and what all words get.
LANE_INLINE_52 void p52_next(thread P52Partial& h, ulong constant_of_next) {
    h.x = (h.tail + p52_all(constant_of_next + P52_ABOVE)) - h.box;
    h.sum = h.tail + h.box;
}
/// All partial rounds of two states. A round takes as long as its S-box: what the round before adds to the other words is
/// done beside it. Words are at most 46 p, and 10 p after the first round, whose tail is not reduced; but x is up to 277 p, s1 grows to less
/// than 2^38 and s2 to less than 2^48.
LANE_INLINE_52 void p52_partial_rounds(thread wide_l (*s)[16]) {
    const wide_l lack = p52_all(P52_LACK);
    P52Partial h[2];
    MSL_UNROLL for (uint n = 0; n < 2u; n++) {
        p52_enter_pair<0, 9, 13>(h[n], s[n]);
        p52_enter_pair<1, 3, 6>(h[n], s[n]);
        p52_enter_pair<2, 12, 15>(h[n], s[n]);
        p52_enter_pair<3, 4, 7>(h[n], s[n]);
        p52_enter_pair<4, 5, 8>(h[n], s[n]);
        h[n].s1 = p52_times<P52_RESCALE>(lack, s[n][1]);
        h[n].s2 = p52_times<P52_RESCALE>(lack, s[n][2]);
        h[n].s10 = p52_times<P52_RESCALE>(lack, s[n][10]);
        h[n].s11 = p52_times<P52_RESCALE>(lack, s[n][11]);
        h[n].s14 = p52_times<P52_RESCALE>(lack, s[n][14]);
        h[n].box = p52_times<P52_RESCALE>(p52_all((P52_LACK + P52.partial[0]) % P52_P), s[n][0]);
        h[n].tail = p52_tail(h[n]);
        p52_sevenths<1>(&h[n].box, P52.after[3]);
        p52_next(h[n], P52.partial[1]);
    }
    MSL_ROLLED for (uint k = 1; k < 13u; k++) {
        wide_l mu[2], y[2];
#define P52_BOTH MSL_UNROLL for (uint n = 0; n < 2u; n++)
        P52_BOTH mu[n] = p52_mu(h[n].x);
        P52_BOTH y[n] = p52_product(lack, h[n].x, mu[n], h[n].x);
        P52_BOTH p52_pair<0>(h[n]);
        P52_BOTH p52_pair<1>(h[n]);
        P52_BOTH y[n] = p52_product(lack, h[n].x, mu[n], y[n]);
        P52_BOTH p52_pair<2>(h[n]);
        P52_BOTH p52_pair<3>(h[n]);
        P52_BOTH y[n] = p52_product(lack, y[n], p52_mu(y[n]), y[n]);
        P52_BOTH p52_pair<4>(h[n]);
        P52_BOTH p52_others(h[n]);
        P52_BOTH h[n].tail = p52_reduce(p52_tail(h[n]));
        P52_BOTH h[n].box = p52_product(lack, h[n].x, mu[n], y[n]);
        P52_BOTH p52_next(h[n], k < 12u ? P52.partial[k + 1u] : P52.middle[0]);
#undef P52_BOTH
    }
    MSL_UNROLL for (uint n = 0; n < 2u; n++) {
        p52_pair<0>(h[n]);
        p52_pair<1>(h[n]);
        p52_pair<2>(h[n]);
        p52_pair<3>(h[n]);
        p52_pair<4>(h[n]);
        p52_others(h[n]);
        s[n][0] = h[n].x;
        s[n][1] = h[n].s1 + p52_all(P52.middle[1]);
        s[n][2] = h[n].s2 + p52_all(P52.middle[2]);
        s[n][10] = h[n].s10 + p52_all(P52.middle[10]);
        s[n][11] = h[n].s11 + p52_all(P52.middle[11]);
        s[n][14] = h[n].s14 + p52_all(P52.middle[14]);
        p52_leave_pair<0, 9, 13>(h[n], s[n]);
        p52_leave_pair<1, 3, 6>(h[n], s[n]);
        p52_leave_pair<2, 12, 15>(h[n], s[n]);
        p52_leave_pair<3, 4, 7>(h[n], s[n]);
        p52_leave_pair<4, 5, 8>(h[n], s[n]);
    }
}

/// The permutation of the sixteen elements s[0..16], for processors with these products: 6,700 instructions.
LANE_TARGET_52 inline void p2_permute_52(thread FpL* s) {
    wide_l w[2][16];
    MSL_UNROLL for (uint i = 0; i < 16u; i++) {
        uint_l x = s[i].v + P52.first[i];
        w[0][i] = lane_even_words(x);
        w[1][i] = lane_odd_words(x);
    }
    p52_external(w[0]);
    p52_external(w[1]);
    MSL_ROLLED for (uint r = 0; r < 8u; r++) {
        if (r == 4u) p52_partial_rounds(w);
        MSL_ROLLED for (uint n = 0; n < 2u; n++) {
            p52_sevenths<8>(w[n], P52.after[r]);
            p52_sevenths<8>(w[n] + 8u, P52.after[r] + 8);
            p52_external(w[n]);
        }
    }
    // A product with what it lacks less p is in [-p, p + 2^18].
    const wide_l lack = p52_all(P52_LACK - P52_P);
    MSL_UNROLL for (uint i = 0; i < 16u; i++) {
        uint_l x = lane_join_words(p52_times<P52_MEMORY>(lack, w[0][i]), p52_times<P52_MEMORY>(lack, w[1][i]));
        x = min(x, x + FP_P);
        s[i].v = min(x, x - FP_P);
    }
}
#endif
