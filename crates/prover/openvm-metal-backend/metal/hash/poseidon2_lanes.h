#pragma once
// Poseidon2 of lanes with 32-bit words. On a CPU a permutation costs its vector instructions. Words are in windows of p numbers: a product by
// 2^-K is in such a window as it is. A partial round is also as long as its one S-box: what the round before adds to the
// other words is done beside it.
#include "poseidon2_layers.h"

#if LANE_WIDTH > 1
/// [-p, p) -> [0, p).
inline uint_l p2_up(uint_l x) { return min(x, x + FP_P); }
/// [0, 2p) -> [0, p).
inline uint_l p2_down(uint_l x) { return min(x, x - FP_P); }
/// [-p, p) -> [-p, 0).
inline uint_l p2_below(uint_l x) { return max(x, x - FP_P); }
/// x * 2^-K, signed words: in [-p, 0] for x in [-p, 0], and in [-p, x / 2^K] for greater x. 2^-K = -15 * 2^(27-K) mod p.
template <uint K> inline uint_l p2_below_div_2exp(uint_l x) {
    return uint_l(int_l(x) >> int_l(int(K))) - lane_low_bits_times<K, (15u << (27u - K))>(x);
}
/// M x mod p in [0, 1.011 p) for x in [0, 1.011 p). The quotient is that of x without its low K bits: never too large.
template <uint M, uint K> inline uint_l p2_times(uint_l x) {
    constexpr uint RATIO = uint((ulong(M) << (16u + K)) / FP_P);
    return x * M - (((x >> K) * RATIO) >> 16u) * FP_P;
}

/// All partial rounds, with e and w of poseidon2.h.
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
        lane_seventh<FP_P, FP_MU> power;
        power.square(x);
        // 15 = -2^-27. The second reduction is for pairs, which may be above p.
        tail = p2_down(p2_down(rest - p2_below_div_2exp<27>(sum_below)));
        s1 = p2_down(s1 + sum);
        s2 = p2_down(s2 + sum);
        s10 = p2_below(s10 + sum);
        s11 = p2_below(s11 + sum);
        s14 = p2_below(sum_below - s14);
        // The first and the third need no reduction: w is at most 2^15, and little is left of 2^-16 and 2^-54 of them.
        uint_l old[5];
        MSL_UNROLL for (uint i = 0; i < 5u; i++) {
            old[i] = e[i];
            e[i] = twice + w[i];
        }
        e[1] = p2_below(e[1]);
        power.third_and_fourth();
        e[3] = p2_down(e[3]);
        e[4] = p2_down(e[4]);
        w[0] = p2_below_div_2exp<16>(old[0]);
        w[1] = p2_below_div_2exp<2>(old[1]);
        w[2] = p2_below_div_2exp<27>(p2_below_div_2exp<27>(old[2]));
        w[3] = p2_times<9, 20>(old[3]);
        w[4] = p2_times<16, 19>(old[4]);
        power.product();
        s2 = p2_down(s2 + s2);
        s10 = p2_below_div_2exp<2>(s10);
        s11 = p2_below_div_2exp<3>(s11);
        s14 = p2_below_div_2exp<4>(s14);
        rest = p2_down(p2_up(w[0] - s14) + p2_up(w[1] + w[3]));
        rest = p2_down(rest + p2_up(w[2] + w[4]));
        rest = p2_down(rest + p2_down(p2_up(s1 + s10) + p2_up(s2 + s11)));
        box = power.seventh<false>();
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
        both[i].v = p2_down(i < 3u ? p2_up(twice + w[i]) : p2_down(twice + w[i]));
        both[i] = fp_halve(both[i] + apart[i]);
        apart[i] = both[i] - apart[i];
    }
    s[9] = both[0], s[13] = apart[0];
    s[3] = both[1], s[6] = apart[1];
    s[12] = both[2], s[15] = apart[2];
    s[4] = both[3], s[7] = apart[3];
    s[5] = both[4], s[8] = apart[4];
}
/// The permutation of the sixteen elements s[0..16].
inline void p2_permute_words(thread FpL* s) {
    p2_external<uint_l>(s);
    MSL_ROLLED for (uint r = 0; r < 8u; r++) {
        if (r == 4u) p2_partial_rounds(s);
        // Eight S-boxes at a time fill the multipliers. All words are crossed in each of the eight rounds, so none is in the end.
        MSL_UNROLL for (uint h = 0; h < 16u; h += 8u) {
            uint_l x[8];
            MSL_UNROLL for (uint i = 0; i < 8u; i++) x[i] = s[h + i].v + P2_RC_EXTERNAL[r * 4u + (h + i) / 4u][i & 3u];
            lane_monty_sevenths<FP_P, FP_MU, 8, true>(x);
            MSL_UNROLL for (uint i = 0; i < 8u; i++) s[h + i].v = x[i];
        }
        p2_external<uint_l>(s);
    }
}
#endif
