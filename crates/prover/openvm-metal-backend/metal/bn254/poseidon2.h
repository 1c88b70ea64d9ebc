#pragma once
// Poseidon2 over the scalar field of BN254, x^5: width 3 with 4 + 56 + 4 rounds for rows and transcripts, width 2 with 3 + 50 + 3 rounds for nodes.
// External matrix: 1 added to the identity, in all places. Internal matrix: the same with the last word once more.
#include "constants.h"
#include "field.h"
#include "poseidon2_52.h"

/// Limb i of the round constants of width W.
template <uint W> inline uint bn_round_constant(uint i) { return W == 3u ? BN_RC3[i] : BN_RC2[W == 3u ? 0u : i]; }

/// The linear layer on one half. Words 1 and up are brought below 1.001 p if `reduces`; limbs of word 0 stay below 2^32.
template <uint W> inline void bn_linear(thread Bn* x, bool internal, bool reduces) {
    MSL_UNROLL for (uint i = 0; i < 9u; i++) {
        bn_limb sum = x[0].v[i] + x[1].v[i];
        if (W == 3u) sum = sum + x[W - 1u].v[i];
        bn_limb last = x[W - 1u].v[i];
        MSL_UNROLL for (uint w = 0; w < W; w++) x[w].v[i] = x[w].v[i] + sum;
        if (internal) x[W - 1u].v[i] = x[W - 1u].v[i] + last;
    }
    MSL_UNROLL for (uint w = 1; w < W; w++) {
        if (reduces) bn_reduce(x[w]);
        else bn_carry(x[w]);
    }
}

/// Does the work of `bn_permute` with limbs of 29 bits. One S-box stands in the code: in an external round words pass by it.
///
/// Values: words 1 and up are below 1.001 p after every second internal round, the first one among them, and below 21 p before they are reduced. An S-box takes
/// 13 p at most, and gives 1.1 p at most.
template <uint W> inline void bn_permute_29(thread uint_l* s, uint integers) {
    constexpr uint HALF = W == 3u ? 4u : 3u, PARTIAL = W == 3u ? 56u : 50u;
    Bn x[BN_HALVES * W], y[BN_HALVES];
    MSL_UNROLL for (uint w = 0; w < W; w++) {
        if (((integers >> w) & 1u) != 0u) bn_enter<0>(s + 8u * w, y);
        else bn_enter<5>(s + 8u * w, y);
        BN_EACH_HALF x[n * W + w] = y[n];
    }
    if (integers != 0u) {
        // Words 0 and 1 change places twice.
        Bn r2;
        MSL_UNROLL for (uint i = 0; i < 9u; i++) r2.v[i] = bn_all(BN_R2[i]);
        MSL_ROLLED for (uint w = 0; w < 2u; w++) {
            BN_EACH_HALF {
                Bn first = x[n * W];
                if (((integers >> w) & 1u) != 0u) first = bn_product<false>(first, r2);
                x[n * W] = x[n * W + 1u];
                x[n * W + 1u] = first;
            }
        }
    }
    BN_EACH_HALF {
        MSL_UNROLL for (uint w = 0; w < W; w++) bn_reduce(x[n * W + w]);
        bn_linear<W>(x + n * W, false, false);
    }
    uint next = 0;
    MSL_ROLLED for (uint r = 0; r < 2u * HALF + PARTIAL; r++) {
        bool internal = r >= HALF && r < HALF + PARTIAL;
        uint boxes = internal ? 1u : W;
        MSL_ROLLED for (uint b = 0; b < boxes; b++) {
            BN_EACH_HALF {
                MSL_UNROLL for (uint i = 0; i < 9u; i++) x[n * W].v[i] = x[n * W].v[i] + bn_all(bn_round_constant<W>(next + i));
                bn_carry(x[n * W]);
                y[n] = x[n * W];
            }
            MSL_ROLLED for (uint k = 0; k < 2u; k++) {
                BN_EACH_HALF y[n] = bn_product<true>(y[n], y[n]);
            }
            BN_EACH_HALF {
                y[n] = bn_product<false>(y[n], x[n * W]);
                if (internal) {
                    x[n * W] = y[n];
                } else {
                    // Limb by limb, so that words stay in registers.
                    MSL_UNROLL for (uint i = 0; i < 9u; i++) {
                        MSL_UNROLL for (uint w = 0; w + 1u < W; w++) x[n * W + w].v[i] = x[n * W + w + 1u].v[i];
                        x[n * W + W - 1u].v[i] = y[n].v[i];
                    }
                }
            }
            next += 9u;
        }
        BN_EACH_HALF bn_linear<W>(x + n * W, internal, internal && ((r - HALF) & 1u) == 0u);
    }
    MSL_UNROLL for (uint w = 0; w < W; w++) {
        BN_EACH_HALF {
            y[n] = x[n * W + w];
            bn_finish(y[n]);
        }
        bn_leave(y, s + 8u * w);
    }
}

/// The permutation of W words of 8 in memory's form; where bit w of `integers` is set, word w is an integer below 2^256 that becomes an element.
template <uint W> inline void bn_permute(thread uint_l* s, uint integers) {
#if LANE_WIDTH == 16
    if (lane_has_products_52()) return bn_permute_52<W>(s, integers);
#endif
    bn_permute_29<W>(s, integers);
}
