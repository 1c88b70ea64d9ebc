#pragma once
// The Poseidon2 permutation with one element in each of sixteen neighbouring lanes of a SIMD-group, for the one who has to wait for
// it: its chain of dependent instructions is short, whatever the number of instructions. Lanes 0 to 15 and 16 to 31 hold two
// permutations, or one of them twice.
//
// Words between products are signed, below 2^31: a reduction takes a sum of products to a word of less than
// |sum| / 2^32 + p / 2. It divides by 2^32, which is small modulo p (p / 7.5): times 2^32, 2 * 2^32 and 3 * 2^32 the external
// matrix is two such sums, and a round constant (times 2^64) is one more term.
//
// In the thirteen internal rounds y_k is the S-box of element 0, s_i' = V_i s_i + (T_k + y_k) for the others, T_k their sum
// before the round, and element 0 becomes T_k - y_k. The T_k are linear in the elements before all rounds and the y_j so far,
//   T_k = sum_i A_{k,i} s_i + sum_{j<k} E_{k-j} y_j,
// so lane k has the sum for T_k and adds E_{k-j} y_j to it while other rounds go on: of a round only its S-box and one
// subtraction are waited for. Constants of the rounds are in these sums from the start; what they add to s_i on the way is
// taken off with the first constant after the internal rounds.
#include "poseidon2.h"

// Elements of a permutation.
constant constexpr uint SPREAD_WIDTH = 16u;

// Where a lane's constants lie in its row.
constant constexpr uint SPREAD_FIRST = 0u;     // before external rounds 0 to 3 and internal round 0 (of element 0), times 2^64
constant constexpr uint SPREAD_LAST = 5u;      // before external rounds 5 to 7, times 2^64
constant constexpr uint SPREAD_MIDDLE = 8u;    // before external round 4, times 2^32, minus p
constant constexpr uint SPREAD_DIAGONAL = 9u;  // V, times 2^32
constant constexpr uint SPREAD_ECHO = 10u;     // E_lane, times 2^32
constant constexpr uint SPREAD_START = 11u;    // in the sum from the start: of element 0 in the next round, times 2^64
constant constexpr uint SPREAD_TAILS = 12u;    // A_{lane, i} at 12 + i, times 2^32
constant constexpr uint SPREAD_ROW = 28u;

// The check `transcript/constants` computes them from Plonky3's.
constant constexpr uint4 SPREAD_ROWS[112] = {  // seven for each lane
    // lane 0
    {0xced252bdu, 0x2e12176cu, 0x3551e817u, 0xe35f65b0u},
    {0xd825e5d1u, 0x0a4f3fc6u, 0xf869115bu, 0x07c23952u},
    {0x00000000u, 0x58000005u, 0x00000000u, 0x74cc5779u},
    {0x00000000u, 0x0ffffffeu, 0x0ffffffeu, 0x0ffffffeu},
    {0x0ffffffeu, 0x0ffffffeu, 0x0ffffffeu, 0x0ffffffeu},
    {0x0ffffffeu, 0x0ffffffeu, 0x0ffffffeu, 0x0ffffffeu},
    {0x0ffffffeu, 0x0ffffffeu, 0x0ffffffeu, 0x0ffffffeu},
    // lane 1
    {0xe676af15u, 0x3a73172du, 0x2dd79741u, 0x27b0c766u},
    {0x00000000u, 0xcdd03ef6u, 0x237c8edeu, 0xdee0b462u},
    {0xb6292ab5u, 0x0ffffffeu, 0x77ffffe1u, 0x64b3e25cu},
    {0x00000000u, 0x0fffffdeu, 0x1fffffdcu, 0x07ffffdfu},
    {0x2fffffdau, 0x3fffffd8u, 0x6fffffe2u, 0x47ffffe7u},
    {0x37ffffe9u, 0x00ffffe0u, 0x3fffffe0u, 0x1fffffe0u},
    {0x00000000u, 0x76ffffe1u, 0x67ffffe1u, 0x77ffffc1u},
    // lane 2
    {0xcf3805ecu, 0x3b4eedcau, 0xdd69adfeu, 0xe9b0e1cfu},
    {0x00000000u, 0xd33ad02cu, 0x17c581dcu, 0x28d25e2fu},
    {0x928d197fu, 0x1ffffffcu, 0x07fffe19u, 0x73c1b242u},
    {0x00000000u, 0x17fffdf7u, 0x47fffdd1u, 0x47fffe09u},
    {0x1ffffda6u, 0x17fffd77u, 0x47fffe29u, 0x1ffffe66u},
    {0x17fffe77u, 0x1700fe19u, 0x17fffe11u, 0x0bfffe15u},
    {0x07fffe19u, 0x7100fe1au, 0x08fffe1bu, 0x07fffa59u},
    // lane 3
    {0x152a8556u, 0xe7236b1bu, 0xf0d1581bu, 0x081bc82fu},
    {0x00000000u, 0xd3c82f00u, 0xfec25780u, 0x35a7f789u},
    {0xc7fe36e9u, 0x07ffffffu, 0x4501ded6u, 0x48325809u},
    {0x00000000u, 0x5d01dccdu, 0x5d01da77u, 0x2d01dddau},
    {0x2d01d7c7u, 0x2d01d4b1u, 0x5d01dfc2u, 0x5d01e3a5u},
    {0x5d01e4fbu, 0x3960dfd4u, 0x2d01de5au, 0x7381de99u},
    {0x4501fb60u, 0x50c0ddd8u, 0x1ef1def4u, 0x45018a0cu},
    // lane 4
    {0x3b75abc4u, 0xd33253c3u, 0x1631ccf6u, 0xddabe4b4u},
    {0x00000000u, 0xdd2f7366u, 0xca24a80cu, 0xdf984b19u},
    {0xfc26a923u, 0x2ffffffau, 0x6ba9c8efu, 0x24d1dceau},
    {0x00000000u, 0x50aba5bbu, 0x35ad7ddbu, 0x0a2ab7dbu},
    {0x02af5042u, 0x2fb11bb1u, 0x3d28d90eu, 0x44a41e02u},
    {0x5fa23506u, 0x088329ceu, 0x3aea4085u, 0x6b1a04c2u},
    {0x208c0e57u, 0x58990811u, 0x0fbaaaffu, 0x3ec0df9au},
    // lane 5
    {0x18788837u, 0xdc180cf8u, 0x19cff75au, 0x1310938cu},
    {0x00000000u, 0xca00978bu, 0x2d9c54ffu, 0xdd5d2488u},
    {0xd4b91a58u, 0x3ffffff8u, 0x4a7b838au, 0x753ece7fu},
    {0x00000000u, 0x23272944u, 0x3dd67f3fu, 0x1390df77u},
    {0x52897450u, 0x193ff24cu, 0x2be71703u, 0x6c8f2986u},
    {0x33f2af75u, 0x61f406b4u, 0x3b3613abu, 0x39dec422u},
    {0x4246ac75u, 0x521aea82u, 0x41ffd8dau, 0x37c89d88u},
    // lane 6
    {0x0247cd51u, 0x29f86061u, 0xd228e653u, 0xecb6b3eeu},
    {0x00000000u, 0xf18148cbu, 0xee456bb2u, 0xcb51385fu},
    {0x8fbd8959u, 0x70000002u, 0x49f3ca67u, 0x2b8c1c50u},
    {0x00000000u, 0x6d1af3abu, 0x4da0c8e4u, 0x17bc3a22u},
    {0x51902755u, 0x36f39396u, 0x70003ee6u, 0x6c464dd8u},
    {0x6a290c95u, 0x6df5be6eu, 0x76c14f52u, 0x332fa2ebu},
    {0x27cfaf94u, 0x0e91af7cu, 0x18d3ccd9u, 0x46b50558u},
    // lane 7
    {0x33f2ca85u, 0x0b1d2409u, 0xd9e16c35u, 0xead33749u},
    {0x00000000u, 0x0f7ddff4u, 0xec2dfd6cu, 0xe59d44d4u},
    {0xf8250fd6u, 0x48000007u, 0x173c2cd2u, 0x1d488496u},
    {0x00000000u, 0x0c57207cu, 0x3a7dbe99u, 0x231a49e3u},
    {0x1beca2cfu, 0x030a7b28u, 0x573c0d60u, 0x3a69434du},
    {0x4e97fa82u, 0x5c1a2291u, 0x70ec80a7u, 0x68a22130u},
    {0x1a10e32bu, 0x514d9b23u, 0x592ef005u, 0x03d77cf1u},
    // lane 8
    {0xeeb803f2u, 0x11b07363u, 0xc582b641u, 0x0e1d7b0eu},
    {0x00000000u, 0x18833b4bu, 0xdd41fa8cu, 0x1bcb8d4fu},
    {0xbf792f9bu, 0x38000009u, 0x1f3141c3u, 0x553ee510u},
    {0x00000000u, 0x2b88623fu, 0x1c2cbef4u, 0x6cbe66b5u},
    {0x72f72a30u, 0x2b5b2e63u, 0x6b933b14u, 0x5ff577deu},
    {0x4cd157beu, 0x53955be6u, 0x596c61edu, 0x2c4585e9u},
    {0x0033f241u, 0x2f47f428u, 0x3f1e52c3u, 0x58d193e2u},
    // lane 9
    {0xd3743895u, 0xc8270d67u, 0xd2226579u, 0xfc87b985u},
    {0x00000000u, 0x040a861eu, 0xfb66f4a0u, 0xfbb719edu},
    {0xbc8cfa8cu, 0x01000000u, 0x4bd2fbedu, 0x70e81ab8u},
    {0x00000000u, 0x775b5e2cu, 0x0c2c79d4u, 0x46322f47u},
    {0x3cb87a7au, 0x093fb577u, 0x16095e63u, 0x1bf29455u},
    {0x088d9cf7u, 0x58569149u, 0x442e1468u, 0x425bacaau},
    {0x48c7ca1eu, 0x5e63b3f9u, 0x5e6116c1u, 0x581aa620u},
    // lane 10
    {0xf669609du, 0x17376dc2u, 0x26bc3974u, 0x341e553fu},
    {0x00000000u, 0xd9e0cbffu, 0x1d42afa1u, 0xeff5f231u},
    {0xf0c5cb8au, 0x40000000u, 0x3ec35433u, 0x670261f5u},
    {0x00000000u, 0x3e1eb25eu, 0x571c47dbu, 0x25dc6bd6u},
    {0x04ecc39fu, 0x63c22a0fu, 0x6fbea502u, 0x62eb9735u},
    {0x1c8ce057u, 0x1ce3aac4u, 0x4fced94du, 0x290ec9c8u},
    {0x330e7c7au, 0x3b1cf07fu, 0x405d42c7u, 0x40531008u},
    // lane 11
    {0xd3b263d8u, 0x32a5e357u, 0x0e7de677u, 0xf6244925u},
    {0x00000000u, 0xf90d8e7du, 0x14906c9cu, 0xde7cf37cu},
    {0x8f403550u, 0x20000000u, 0x4f9a7de5u, 0x2d62ba41u},
    {0x00000000u, 0x15b93042u, 0x0dd30d99u, 0x6288b3d0u},
    {0x5e60c8c2u, 0x76a3261eu, 0x17bb2b64u, 0x16d7b848u},
    {0x5566fc8au, 0x6bd76190u, 0x458e3438u, 0x54bc571eu},
    {0x21c132c5u, 0x12e760f4u, 0x0814a9b8u, 0x54786e55u},
    // lane 12
    {0x32e8f67du, 0x274941c3u, 0xcbec471au, 0xe1923027u},
    {0x00000000u, 0x29784fa9u, 0xf21d7f64u, 0xd48bef90u},
    {0xf1fe72bbu, 0x00000020u, 0x2e6a5966u, 0x28dd70dbu},
    {0x00000000u, 0x442389a8u, 0x4a107498u, 0x5faeb34eu},
    {0x598cb3aau, 0x28f6f1dau, 0x228cc3b4u, 0x61e3308fu},
    {0x40ce6741u, 0x635630c8u, 0x3fcde674u, 0x5701e44au},
    {0x14185fdfu, 0x28b77205u, 0x69e90ecbu, 0x7178d057u},
    // lane 13
    {0x29cc836cu, 0x2c9060f2u, 0xe0bc4ca3u, 0x2cb23361u},
    {0x00000000u, 0xd682954du, 0x2da5d574u, 0xe43952f4u},
    {0xc471fdc1u, 0x77000001u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
    // lane 14
    {0xed685bfau, 0x2f3e3735u, 0x3356f03au, 0x11210ce2u},
    {0x00000000u, 0x11c33a4du, 0x113b874cu, 0xc5af754eu},
    {0xa3116b73u, 0x68000001u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
    // lane 15
    {0x1d515ab3u, 0x0bbc7668u, 0xfac16c09u, 0x1ba49772u},
    {0x00000000u, 0xc67a12c8u, 0x3819ee8du, 0xfe3f0465u},
    {0xf3a80bbfu, 0x77ffffe1u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
    {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u},
};

/// The constants of a lane, of 16.
struct SpreadRow {
    uint c[SPREAD_ROW];
};
inline SpreadRow spread_row(uint lane) {
    SpreadRow row;
    MSL_UNROLL for (uint i = 0; i < SPREAD_ROW / 4u; i++) {
        uint4 c = SPREAD_ROWS[lane * (SPREAD_ROW / 4u) + i];
        row.c[4u * i] = c.x;
        row.c[4u * i + 1u] = c.y;
        row.c[4u * i + 2u] = c.z;
        row.c[4u * i + 3u] = c.w;
    }
    return row;
}

inline long spread_wide(int a, int b) {
#if MSL_PTX
    return msl_mul_wide(a, b);
#else
    return long(a) * long(b);
#endif
}
/// t * 2^-32 mod p, of less than |t| / 2^32 + p / 2.
inline int spread_reduce(long t) {
    uint m = uint(t) * (0u - FP_MU);
#if MSL_PTX
    msl_opaque(m);
#endif
    return int((t + spread_wide(int(m), int(FP_P))) >> 32);
}
/// The element of a signed word of less than p.
inline Fp spread_element(int x) { return Fp{min(uint(x), uint(x) + FP_P)}; }

/// The word of another lane.
inline int spread_from(int x, uint lane) { return int(simd_shuffle(uint(x), ushort(lane))); }
inline Fp spread_from(Fp x, uint lane) { return Fp{simd_shuffle(x.v, ushort(lane))}; }

/// z^7 for |z| <= 2^31, of less than p.
inline int spread_sbox(int z) {
    int z2 = spread_reduce(spread_wide(z, z));
    int z3 = spread_reduce(spread_wide(z2, z)), z4 = spread_reduce(spread_wide(z2, z2));
    return spread_reduce(spread_wide(z3, z4));
}
/// The external matrix, every block of four plus the sum of all blocks, times the circulant (2, 3, 1, 1), and the constant c
/// (times 2^64); |y| < p, the result less than 0.8 p.
inline int spread_external(int y, uint lane, uint c) {
    int one = int(FP_ONE), two = 2 * one, three = 3 * one;
    uint block = lane & ~3u;
    long t = spread_wide(y, two) + spread_wide(spread_from(y, block | ((lane + 1u) & 3u)), three) +
             spread_wide(spread_from(y, lane ^ 2u), one) +
             spread_wide(spread_from(y, block | ((lane + 3u) & 3u)), one);
    int x = spread_reduce(t);
    long u = long(int(c)) + spread_wide(x, two) + spread_wide(spread_from(x, lane ^ 4u), one) +
             spread_wide(spread_from(x, lane ^ 8u), one) + spread_wide(spread_from(x, lane ^ 12u), one);
    return spread_reduce(u);
}
/// All internal rounds, from element 0 with its constant in lane 0 and the other elements in theirs: those of external round 4.
inline int spread_internal(int z, uint lane, SpreadRow row) {
    uint element = lane % SPREAD_WIDTH, first = lane - element;
    Fp s = spread_element(z);
    z = spread_from(z, first);
    Fp sum = fp_zero<uint>();
    ulong acc = ulong(row.c[SPREAD_START]);
    MSL_UNROLL for (uint i = 1u; i < SPREAD_WIDTH; i++) {
        acc = fp_acc_mad(acc, spread_from(s, first | i).v, row.c[SPREAD_TAILS + i]);
        if ((i & 3u) == 3u) {
            sum = sum + Fp{fp_acc_reduce(acc)};
            acc = 0ul;
        }
    }
    Fp diagonal = Fp{row.c[SPREAD_DIAGONAL]}, echo = Fp{row.c[SPREAD_ECHO]};
    uint before = first | (max(element, 1u) - 1u);
#if MSL_PTX
    MSL_UNROLL  // rolled, the loop's end is waited for: 90 cycles a round where 70 are enough (sm_90, by its machine code)
#else
    MSL_ROLLED
#endif
    for (uint k = 0; k < 13u; k++) {
        Fp tail = spread_from(sum, first | k);
        Fp y = spread_element(spread_sbox(z));
        z = int(tail.v - y.v);
        sum = sum + echo * y;
        s = diagonal * s + (tail + y);
        echo = spread_from(echo, before);  // E_0 = 0 comes in
    }
    int others = int(s.v + row.c[SPREAD_MIDDLE]);
    return select(others, z, element == 0u);
}

/// The permutation; `lane` of the SIMD-group, of which sixteen neighbours hold one state. All threads of the SIMD-group call it.
inline Fp spread_permute(Fp s, uint lane, SpreadRow row) {
    int z = spread_external(int(s.v), lane, row.c[SPREAD_FIRST]);
    MSL_UNROLL for (uint r = 1u; r <= 4u; r++) {
        z = spread_external(spread_sbox(z), lane, row.c[SPREAD_FIRST + r]);
    }
    z = spread_internal(z, lane, row);
    MSL_UNROLL for (uint r = 0; r < 4u; r++) {
        z = spread_external(spread_sbox(z), lane, r < 3u ? row.c[SPREAD_LAST + r] : 0u);
    }
    return spread_element(z);
}
