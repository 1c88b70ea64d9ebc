#pragma once
// Poseidon2 over BabyBear, width 16, x^7, 4 + 13 + 4 rounds: p3-baby-bear's `default_babybear_poseidon2_16`.
// One permutation: 141 S-boxes of 4 products, and additions.
#include "poseidon2_52.h"
#include "poseidon2_loose.h"
#include "poseidon2_lanes.h"
#include "poseidon2_sbox.h"

#if !MSL_PTX
/// All partial rounds: s[0] -> (s[0] + c)^7, then s -> (1 + Diag(V)) s,
/// V = [-2, 1, 2, 1/2, 3, 4, -1/2, -3, -4, 2^-8, 1/4, 1/8, 2^-27, -2^-8, -1/16, -2^-27].
///
/// V has five pairs v, -v. For a' = sum + v a and b' = sum - v b let e = a + b and w = v (a - b): then e' = 2 sum + w and w' = v^2 e, one
/// product instead of two, and one term of the sum instead of two. NVIDIA GPUs have them in poseidon2_loose.h.
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
#endif
/// The permutation of the sixteen elements s[0..16] but for its last step, the external matrix.
template <typename U> inline void p2_rounds(thread FpT<U>* s) {
    // One loop for the external rounds of both sides, each with the matrix before it: a GPU's instruction cache holds the whole permutation.
    MSL_ROLLED for (uint r = 0; r < 8u; r++) {
        p2_external<U>(s);
        if (r == 4u) p2_partial_rounds(s);
        MSL_UNROLL for (uint i = 0; i < 4u; i++) {
            uint4 c = P2_RC_EXTERNAL[r * 4u + i];
            s[4u * i].v = p2_sbox(s[4u * i].v, c.x);
            s[4u * i + 1u].v = p2_sbox(s[4u * i + 1u].v, c.y);
            s[4u * i + 2u].v = p2_sbox(s[4u * i + 2u].v, c.z);
            s[4u * i + 3u].v = p2_sbox(s[4u * i + 3u].v, c.w);
        }
    }
}
/// The permutation of the sixteen elements s[0..16].
template <typename U> inline void poseidon2_permute(thread FpT<U>* s) {
    p2_rounds<U>(s);
    p2_external<U>(s);
}
/// The permutation of s[0..16], of which the caller reads all words if `whole`, else words 8..16 if `upper`, else words 0..8: what is not read is
/// not made. Either half takes 30 additions fewer: the capacity of a sponge whose rate is overwritten next, or a digest.
template <typename U> inline void poseidon2_permute_part(thread FpT<U>* s, bool whole, bool upper) {
    p2_rounds<U>(s);
    if (whole) p2_external<U>(s);
    else p2_external_half<U>(s, upper);
}

#if LANE_WIDTH > 1
template <> inline void poseidon2_permute<uint_l>(thread FpL* s) {
#if LANE_WIDTH == 16
    if (lane_has_products_52()) return p2_permute_52(s);
#endif
    p2_permute_words(s);
}
template <> inline void poseidon2_permute_part<uint_l>(thread FpL* s, bool, bool) { poseidon2_permute<uint_l>(s); }
#endif
