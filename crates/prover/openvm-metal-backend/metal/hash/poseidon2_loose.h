#pragma once
// Partial rounds of Poseidon2 for NVIDIA GPUs, where a sum of words with its carries costs one instruction for each, and a product with a
// constant three: words stay unreduced from round to round.
#include "poseidon2_layers.h"
#include "poseidon2_sbox.h"

#if MSL_PTX
/// The high word of a b.
inline uint p2_high(uint a, uint b) { return uint(ulong(a) * ulong(b) >> 32); }
/// r - p if that is not negative, else r.
inline uint p2_less_p(uint r) { return min(r, r - FP_P); }
/// r mod p for a signed word, -p <= r < p.
inline uint p2_from_signed(uint r) { return min(r, r + FP_P); }
/// 2^K e less a multiple of p, below 2p, for e <= 15 * 2^(31-K).
template <uint K> inline uint p2_times_2exp(uint e) { return (e << K) - (e >> (31u - K)) * FP_P; }
/// a and b from a + b, any word, and (a - b) / 2, reduced.
inline void p2_apart(thread Fp& a, thread Fp& b, uint sum, Fp half_difference) {
    Fp half_sum = Fp{p2_less_p(fp_halve(Fp{sum}).v)};
    a = half_sum + half_difference;
    b = half_sum - half_difference;
}

/// All partial rounds: poseidon2.h has the formulas. Words are below these bounds: s0, s1, s2, w1, w2, w4, e4 p; s10, s11, s14, e1, e2 2p;
/// e0 2p + 2^24; e3, w3 1.11p; w0 is a signed word from -p to 2^24.
inline void p2_partial_rounds(thread Fp* s) {
    uint d0 = fp_sub_loose(s[9], s[13]).v, d1 = fp_sub_loose(s[3], s[6]).v, d2 = fp_sub_loose(s[12], s[15]).v, d4 = fp_sub_loose(s[5], s[8]).v;
    Fp d3 = s[4] - s[7];
    uint e0 = s[9].v + s[13].v, w0 = fp_div_2exp_signed<8>(d0);
    uint e1 = s[3].v + s[6].v, w1 = p2_less_p(fp_halve(Fp{d1}).v);
    uint e2 = s[12].v + s[15].v, w2 = fp_div_2exp<27>(Fp{d2}).v;
    uint e3 = (s[4] + s[7]).v, w3 = (fp_double(d3) + d3).v;
    uint e4 = (s[5] + s[8]).v, w4 = p2_less_p(p2_times_2exp<2>(d4));
    uint s0 = s[0].v, s1 = s[1].v, s2 = s[2].v, s10 = s[10].v, s11 = s[11].v, s14 = s[14].v;
    MSL_ROLLED for (uint k = 0; k < 13u; k++) {
        // Below 16.2p, so the high word is at most 7, and 2^32 = FP_ONE mod p: 7 FP_ONE is below 0.94p, a word less p below 1.14p.
        ulong all = ulong(s1 + s2) + ulong(s10) + ulong(s11) + ulong(s14) + ulong(e0) + ulong(e1) + ulong(e2) + ulong(e3) + ulong(e4);
        uint tail = p2_less_p(p2_less_p(p2_less_p(uint(all)) + uint(all >> 32) * FP_ONE));
        uint y = p2_sbox(s0, P2_RC_INTERNAL[k]);
        uint sum = p2_less_p(msl_add3<0u>(tail, y)), twice = p2_less_p(sum + sum);
        s0 = p2_from_signed(tail - y);
        s1 = p2_less_p(sum + s1);
        s2 = p2_less_p(sum + p2_less_p(s2 + s2));
        s10 = sum + fp_div_2exp<2>(Fp{s10}).v;
        s11 = sum + fp_div_2exp<3>(Fp{s11}).v;
        s14 = sum + p2_from_signed(fp_low_times<4>(s14) - (s14 >> 4));
        uint f0 = e0, f1 = e1, f2 = e2, f3 = e3, f4 = e4;
        e0 = twice + FP_P + w0;
        w0 = fp_div_2exp_signed<16>(f0);
        e1 = twice + w1;
        w1 = fp_div_2exp<2>(Fp{f1}).v;
        e2 = twice + w2;
        // 2^-54 = 225. 480 is 225 * 2^32 / p rounded up: the quotient may be one too large.
        w2 = p2_from_signed(f2 * 225u - p2_high(f2, 480u) * FP_P);
        e3 = p2_less_p(twice + w3);
        // 9 * 2^32 / p is 19.2.
        w3 = f3 * 9u - p2_high(f3, 19u) * FP_P;
        e4 = p2_less_p(twice + w4);
        w4 = p2_less_p(p2_times_2exp<4>(f4));
    }
    s[0].v = s0;
    s[1].v = s1;
    s[2].v = s2;
    s[10].v = p2_less_p(s10);
    s[11].v = p2_less_p(s11);
    s[14].v = p2_less_p(s14);
    // (a - b) / 2 = w / 2v.
    p2_apart(s[9], s[13], e0, Fp{w0 + FP_P} * fp_factor(Fp{P2_2EXP7}));
    p2_apart(s[3], s[6], e1, Fp{w1});
    p2_apart(s[12], s[15], e2, Fp{w2} * fp_factor(Fp{P2_2EXP26}));
    p2_apart(s[4], s[7], e3, Fp{w3} * fp_factor(Fp{P2_SIXTH}));
    p2_apart(s[5], s[8], e4, fp_div_2exp<3>(Fp{w4}));
}
#endif
