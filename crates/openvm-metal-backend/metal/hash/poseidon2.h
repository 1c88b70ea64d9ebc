#pragma once
// Poseidon2 over BabyBear, width 16, x^7, 4 + 13 + 4 rounds: p3-baby-bear's `default_babybear_poseidon2_16`.
// One permutation: 141 S-boxes of 4 products, and additions. Round constants are in Montgomery form minus p
// (as 32-bit words), so that state + constant lies in [-p, p); a test compares them with p3's tables.
#include "../field/baby_bear.h"

// The initial and then the final rounds, four words at a time.
constant constexpr uint4 P2_RC_EXTERNAL[32] = {
    {0xe64d6937u, 0xf9385deeu, 0xe9ddbd39u, 0xa394117fu}, {0xd520d77cu, 0xda478026u, 0xfb2e57c2u, 0x98e63111u},
    {0xc499be26u, 0x8a218579u, 0xd3be9ab6u, 0xbac46132u}, {0xb762cc75u, 0xbf682265u, 0xa73714e2u, 0xe701dd7cu},
    {0xbd678505u, 0xefda0d23u, 0xbeb30089u, 0xe26765cbu}, {0xcdc068bcu, 0xb6d4b9ebu, 0xac9392d2u, 0x9d0a571bu},
    {0xb07549e9u, 0xc3edb1b7u, 0xed9e048du, 0xce023d6fu}, {0xa655a92cu, 0xa79c528eu, 0xd71ad61fu, 0xdc7fa87fu},
    {0xccc19b35u, 0xaac2f119u, 0x9fb67670u, 0xdddddeb3u}, {0xa318a7ecu, 0x9266840du, 0x923cd408u, 0xff1e5547u},
    {0xdbaaba91u, 0xf3bfe06fu, 0xa2d7c511u, 0xdef4fbf8u}, {0xb6e93eabu, 0xc767bc13u, 0xfe6f3f65u, 0xa4b5555bu},
    {0xd16b4855u, 0xd6e52288u, 0x96351626u, 0xfff2fa2au}, {0xc5176ccbu, 0xca103ad6u, 0xd48a5ba8u, 0xac2cfe15u},
    {0xc4e22e51u, 0xb2e06109u, 0xaf51c80au, 0xb5defdb6u}, {0xb803796du, 0xab4c77eau, 0xf07881f6u, 0xaf8ad902u},
    {0xc3983319u, 0x9a25b4ffu, 0xa8f18723u, 0xa2dd1eacu}, {0xafc8badfu, 0xef810937u, 0xd72405e0u, 0xccbd103eu},
    {0xb8ad7b46u, 0xc8251839u, 0xfa22068eu, 0xeb76b2e4u}, {0xd9651849u, 0xc22811cfu, 0xc57d5b9bu, 0xdb0c569cu},
    {0xe4aada1bu, 0xc506627cu, 0xe7fc6e6bu, 0x9cba29f7u}, {0xf9d1c1e8u, 0xb40fb8f6u, 0xa18b65e0u, 0xadbcff05u},
    {0x8f427c34u, 0x8d9b1121u, 0xd99ea060u, 0xd281a535u}, {0x8ecf9aa8u, 0xa6b2ca03u, 0x8aec7cabu, 0xfcf6c732u},
    {0xda4ebfddu, 0xf6dd9d08u, 0x8bdb6b20u, 0x8894e6fbu}, {0xec3ed13au, 0xb25eb828u, 0xc4cf7584u, 0xdc4a7135u},
    {0xe349128eu, 0x8a27bd54u, 0xb288bdacu, 0x8d5c4d16u}, {0xf7822c49u, 0x9f9a43f1u, 0xcaec1894u, 0xf0f3d82eu},
    {0xb8dcf521u, 0x9006ab71u, 0xf09d63dau, 0x891943f7u}, {0xed709cccu, 0xf23c56e0u, 0xe071ed93u, 0xc15e47bcu},
    {0xf6b895c3u, 0x95422bd8u, 0x8bc4b678u, 0xa6b56dddu}, {0xd85e67b4u, 0xc205211du, 0xe6d5c103u, 0xb21275f0u},
};

constant constexpr uint P2_RC_INTERNAL[13] = {
    0x96ee3c45u, 0xa78036ffu, 0xdfcbade5u, 0xc23d3471u, 0xf86866bcu, 0xc93da072u, 0x90ca8f34u, 0xaf9652bau,
    0x9fc601d9u, 0x9c0a84a0u, 0xe913337au, 0xbcf6e215u, 0xaaf9b8b1u,
};

#if MSL_PTX
/// a * b * 2^-32 mod p as a signed word, |a|, |b| < p: |result| < (p^2 + 2^31 p) / 2^32 < p. 2 wide + 1 low product.
inline int p2_signed_mul(int a, int b) {
    long t = msl_mul_wide(a, b);
    uint m = uint(t) * (0u - FP_MU);
    msl_opaque(m);
    return int((t + msl_mul_wide(int(m), int(FP_P))) >> 32);
}
/// (x + c)^7, c given as c - p. Between its products values are signed words: only the last one is reduced.
inline uint p2_sbox(uint x, uint c) {
    int y = int(x + c);
    int y2 = p2_signed_mul(y, y);
    int y3 = p2_signed_mul(y2, y), y4 = p2_signed_mul(y2, y2);
    uint r = uint(p2_signed_mul(y3, y4));
    return min(r, r + FP_P);
}
#else
/// (x + c)^7, c given as c - p.
inline uint p2_sbox(uint x, uint c) {
    Fp y = Fp{x + c};
    y.v = min(y.v, y.v + FP_P);
    Fp y2 = y * y;
    Fp y3 = y2 * y, y4 = y2 * y2;
    return (y3 * y4).v;
}
#endif

/// The 4x4 circulant (2, 3, 1, 1) on x[0..4]: 11 additions.
template <typename U> inline void p2_mat4(thread FpT<U>* x) {
    FpT<U> t01 = x[0] + x[1], t23 = x[2] + x[3];
    FpT<U> t0123 = t01 + t23;
    FpT<U> t01123 = t0123 + x[1], t01233 = t0123 + x[3];
    x[3] = t01233 + fp_double(x[0]);
    x[1] = t01123 + fp_double(x[2]);
    x[0] = t01123 + t01;
    x[2] = t01233 + t23;
}
/// The external matrix: 72 additions.
template <typename U> inline void p2_external(thread FpT<U>* s) {
    MSL_UNROLL for (uint i = 0; i < 16u; i += 4u) p2_mat4<U>(s + i);
    FpT<U> sum[4];
    MSL_UNROLL for (uint k = 0; k < 4u; k++) sum[k] = (s[k] + s[k + 4]) + (s[k + 8] + s[k + 12]);
    MSL_UNROLL for (uint i = 0; i < 16u; i++) s[i] = s[i] + sum[i & 3u];
}
constant constexpr uint P2_2EXP8 = uint((1ul << 40u) % FP_P);             // 2^8 in Montgomery form
constant constexpr uint P2_2EXP27 = uint((1ul << 59u) % FP_P);            // 2^27
constant constexpr uint P2_THIRD = uint((0x50000001ul << 32u) % FP_P);    // 1/3

/// All partial rounds: s[0] -> (s[0] + c)^7, then s -> (1 + Diag(V)) s,
/// V = [-2, 1, 2, 1/2, 3, 4, -1/2, -3, -4, 2^-8, 1/4, 1/8, 2^-27, -2^-8, -1/16, -2^-27].
///
/// V has five pairs v, -v. For a' = sum + v a and b' = sum - v b let e = a + b and w = v (a - b): then e' = 2 sum + w and w' = v^2 e, one
/// product instead of two, and one term of the sum instead of two.
inline void p2_partial_rounds(thread Fp* s) {
    // v = 2^-8, 1/2, 2^-27, 3 and 4.
    Fp e0 = s[9] + s[13], w0 = fp_div_2exp<8>(s[9] - s[13]);
    Fp e1 = s[3] + s[6], w1 = fp_halve(s[3] - s[6]);
    Fp e2 = s[12] + s[15], w2 = fp_div_2exp<27>(s[12] - s[15]);
    Fp e3 = s[4] + s[7], d3 = s[4] - s[7], w3 = fp_double(d3) + d3;
    Fp e4 = s[5] + s[8], w4 = fp_double(fp_double(s[5] - s[8]));
    MSL_ROLLED for (uint k = 0; k < 13u; k++) {
        Fp tail = (((s[1] + s[2]) + (s[10] + s[11])) + (s[14] + e0)) + ((e1 + e2) + (e3 + e4));
        s[0].v = p2_sbox(s[0].v, P2_RC_INTERNAL[k]);
        Fp sum = tail + s[0], twice = fp_double(sum);
        s[0] = tail - s[0];
        s[1] = sum + s[1];
        s[2] = sum + fp_double(s[2]);
        s[10] = sum + fp_div_2exp<2>(s[10]);
        s[11] = sum + fp_div_2exp<3>(s[11]);
        s[14] = sum - fp_div_2exp<4>(s[14]);
        // By shifts and additions: Apple GPUs have time for both beside the products of S-boxes.
        Fp eight = fp_double(fp_double(fp_double(e3))), four = fp_double(fp_double(e4));
        Fp next0 = fp_div_2exp<16>(e0), next1 = fp_div_2exp<2>(e1), next2 = fp_div_2exp<27>(fp_div_2exp<27>(e2));
        Fp next3 = eight + e3, next4 = fp_double(fp_double(four));
        e0 = twice + w0;
        e1 = twice + w1;
        e2 = twice + w2;
        e3 = twice + w3;
        e4 = twice + w4;
        w0 = next0;
        w1 = next1;
        w2 = next2;
        w3 = next3;
        w4 = next4;
    }
    // w / v = a - b, and from it a and b.
    s[9] = fp_halve(e0 + w0 * Fp{P2_2EXP8});
    s[13] = e0 - s[9];
    s[3] = fp_halve(e1 + fp_double(w1));
    s[6] = e1 - s[3];
    s[12] = fp_halve(e2 + w2 * Fp{P2_2EXP27});
    s[15] = e2 - s[12];
    s[4] = fp_halve(e3 + w3 * Fp{P2_THIRD});
    s[7] = e3 - s[4];
    s[5] = fp_halve(e4 + fp_div_2exp<2>(w4));
    s[8] = e4 - s[5];
}
/// The permutation of the sixteen elements s[0..16].
template <typename U> inline void poseidon2_permute(thread FpT<U>* s) {
    p2_external<U>(s);
    // One loop for the external rounds of both sides: a GPU's instruction cache holds the whole permutation.
    MSL_ROLLED for (uint r = 0; r < 8u; r++) {
        if (r == 4u) p2_partial_rounds(s);
        MSL_UNROLL for (uint i = 0; i < 4u; i++) {
            uint4 c = P2_RC_EXTERNAL[r * 4u + i];
            s[4u * i].v = p2_sbox(s[4u * i].v, c.x);
            s[4u * i + 1u].v = p2_sbox(s[4u * i + 1u].v, c.y);
            s[4u * i + 2u].v = p2_sbox(s[4u * i + 2u].v, c.z);
            s[4u * i + 3u].v = p2_sbox(s[4u * i + 3u].v, c.w);
        }
        p2_external<U>(s);
    }
}

#if LANE_WIDTH > 1
// The same for lanes. On a CPU a permutation costs its vector instructions. Words are in windows of p numbers: a product by
// 2^-K is in such a window as it is. A partial round is also as long as its one S-box: what the round before adds to the
// other words is done beside it.

/// [-p, p) -> [0, p).
inline uint_l p2_up(uint_l x) { return min(x, x + FP_P); }
/// [0, 2p) -> [0, p).
inline uint_l p2_down(uint_l x) { return min(x, x - FP_P); }
/// [-p, p) -> [-p, 0).
inline uint_l p2_below(uint_l x) { return max(x, x - FP_P); }
/// x * 2^-K in [-p, 0] for x in [-p, 0], signed words: 2^-K = -15 * 2^(27-K) mod p.
template <uint K> inline uint_l p2_below_div_2exp(uint_l x) {
    return uint_l(int_l(x) >> int_l(int(K))) - (x & ((1u << K) - 1u)) * (15u << (27u - K));
}
/// M x mod p in [0, 1.011 p) for x in [0, 1.011 p). The quotient is that of x without its low K bits: never too large.
template <uint M, uint K> inline uint_l p2_times(uint_l x) {
    constexpr uint RATIO = uint((ulong(M) << (16u + K)) / FP_P);
    return x * M - (((x >> K) * RATIO) >> 16u) * FP_P;
}

/// All partial rounds, with e and w as above.
inline void p2_partial_rounds(thread FpL* s) {
    // v = 2^-8, 1/2 and 2^-27, whose e and w are in [-p, 0), then 3 and 4. s[10], s[11] and s[14] are in [-p, 0) too.
    FpL both[5] = {s[9] + s[13], s[3] + s[6], s[12] + s[15], s[4] + s[7], s[5] + s[8]};
    FpL apart[5] = {s[9] - s[13], s[3] - s[6], s[12] - s[15], s[4] - s[7], s[5] - s[8]};
    uint_l tail = ((((s[1] + s[2]) + (s[10] + s[11])) + (s[14] + both[0])) + ((both[1] + both[2]) + (both[3] + both[4]))).v;
    // A round begins with these plus sum, w plus 2 sum, and sum - s14. Before the first one sum is zero.
    uint_l sum = uint_l(0u), sum_below = uint_l(0u - FP_P), twice = uint_l(0u);
    uint_l s1 = s[1].v, s2 = s[2].v, s10 = s[10].v - FP_P, s11 = s[11].v - FP_P, s14 = uint_l(0u) - s[14].v;
    uint_l w[5] = {both[0].v - FP_P, both[1].v - FP_P, both[2].v - FP_P, both[3].v, both[4].v};
    // e of one round earlier: (a - b) / v.
    uint_l e[5] = {(apart[0] * Fp{P2_2EXP8}).v - FP_P, fp_double(apart[1]).v - FP_P, (apart[2] * Fp{P2_2EXP27}).v - FP_P,
                   (apart[3] * Fp{P2_THIRD}).v, fp_div_2exp<2>(apart[4]).v};
    // The next tail is `rest` + 15 sum.
    uint_l x = s[0].v + P2_RC_INTERNAL[0], box, rest = tail;
    MSL_ROLLED for (uint k = 0; k < 13u; k++) {
        box = x;
        lane_monty_sevenths<FP_P, FP_MU, 1>(&box);
        // 15 = -2^-27. The second reduction is for the pairs of 3 and 4, which may be above p.
        tail = p2_down(p2_down(rest - p2_below_div_2exp<27>(sum_below)));
        s1 = p2_down(s1 + sum);
        s2 = p2_down(s2 + sum);
        s10 = p2_below(s10 + sum);
        s11 = p2_below(s11 + sum);
        s14 = p2_below(sum_below - s14);
        uint_l old[5];
        MSL_UNROLL for (uint i = 0; i < 5u; i++) {
            old[i] = e[i];
            e[i] = i < 3u ? p2_below(twice + w[i]) : p2_down(twice + w[i]);
        }
        w[0] = p2_below_div_2exp<16>(old[0]);
        w[1] = p2_below_div_2exp<2>(old[1]);
        w[2] = p2_below_div_2exp<27>(p2_below_div_2exp<27>(old[2]));
        w[3] = p2_times<9, 20>(old[3]);
        w[4] = p2_times<16, 19>(old[4]);
        s2 = p2_down(s2 + s2);
        s10 = p2_below_div_2exp<2>(s10);
        s11 = p2_below_div_2exp<3>(s11);
        s14 = p2_below_div_2exp<4>(s14);
        rest = p2_down(p2_up(w[0] - s14) + p2_up(w[1] + w[3]));
        rest = p2_down(rest + p2_up(w[2] + w[4]));
        rest = p2_down(rest + p2_down(p2_up(s1 + s10) + p2_up(s2 + s11)));
        x = p2_up(tail + P2_RC_INTERNAL[k < 12u ? k + 1u : 12u]) - box;
        sum = p2_down(tail + box);
        sum_below = sum - FP_P;
        twice = p2_down(sum + sum);
    }
    s[0] = FpL{tail} - FpL{box};
    s[1].v = p2_down(s1 + sum);
    s[2].v = p2_down(s2 + sum);
    s[10].v = p2_up(s10 + sum);
    s[11].v = p2_up(s11 + sum);
    s[14].v = p2_down(sum - s14);
    FpL three = FpL{p2_down(e[3])}, four = FpL{p2_down(e[4])};
    apart[0].v = p2_up(p2_below_div_2exp<8>(e[0]));
    apart[1].v = p2_up(p2_below_div_2exp<1>(e[1]));
    apart[2].v = p2_up(p2_below_div_2exp<27>(e[2]));
    apart[3] = fp_double(three) + three;
    apart[4] = fp_double(fp_double(four));
    MSL_UNROLL for (uint i = 0; i < 5u; i++) {
        both[i].v = i < 3u ? p2_up(twice + w[i]) : p2_down(p2_down(twice + w[i]));
        both[i] = fp_halve(both[i] + apart[i]);
        apart[i] = both[i] - apart[i];
    }
    s[9] = both[0], s[13] = apart[0];
    s[3] = both[1], s[6] = apart[1];
    s[12] = both[2], s[15] = apart[2];
    s[4] = both[3], s[7] = apart[3];
    s[5] = both[4], s[8] = apart[4];
}
template <> inline void poseidon2_permute<uint_l>(thread FpL* s) {
    p2_external<uint_l>(s);
    MSL_ROLLED for (uint r = 0; r < 8u; r++) {
        if (r == 4u) p2_partial_rounds(s);
        // Eight S-boxes at a time fill the multipliers.
        MSL_UNROLL for (uint h = 0; h < 16u; h += 8u) {
            uint_l x[8];
            MSL_UNROLL for (uint i = 0; i < 8u; i++) x[i] = s[h + i].v + P2_RC_EXTERNAL[r * 4u + (h + i) / 4u][i & 3u];
            lane_monty_sevenths<FP_P, FP_MU, 8>(x);
            MSL_UNROLL for (uint i = 0; i < 8u; i++) s[h + i].v = x[i];
        }
        p2_external<uint_l>(s);
    }
}
#endif
