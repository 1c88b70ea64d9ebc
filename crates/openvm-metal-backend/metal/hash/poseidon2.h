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

#if LANE_WIDTH > 1
inline uint_l p2_sbox(uint_l x, uint c) { return lane_monty_seventh<FP_P, FP_MU>(x + c); }
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
/// s -> (1 + Diag(V)) s,
/// V = [-2, 1, 2, 1/2, 3, 4, -1/2, -3, -4, 2^-8, 1/4, 1/8, 2^-27, -2^-8, -1/16, -2^-27]; `tail` = s[1] + ... + s[15].
template <typename U> inline void p2_internal(thread FpT<U>* s, FpT<U> tail) {
    FpT<U> sum = tail + s[0];
    s[0] = tail - s[0];
    s[1] = sum + s[1];
    s[2] = sum + fp_double(s[2]);
    s[3] = sum + fp_halve(s[3]);
    s[4] = sum + (fp_double(s[4]) + s[4]);
    s[5] = sum + fp_double(fp_double(s[5]));
    s[6] = sum - fp_halve(s[6]);
    s[7] = sum - (fp_double(s[7]) + s[7]);
    s[8] = sum - fp_double(fp_double(s[8]));
    s[9] = sum + fp_div_2exp<8>(s[9]);
    s[10] = sum + fp_div_2exp<2>(s[10]);
    s[11] = sum + fp_div_2exp<3>(s[11]);
    s[12] = sum + fp_div_2exp<27>(s[12]);
    s[13] = sum - fp_div_2exp<8>(s[13]);
    s[14] = sum - fp_div_2exp<4>(s[14]);
    s[15] = sum - fp_div_2exp<27>(s[15]);
}
template <typename U> inline void p2_partial_round(thread FpT<U>* s, uint c) {
    FpT<U> a = (s[1] + s[2]) + (s[3] + s[4]), b = (s[5] + s[6]) + (s[7] + s[8]);
    FpT<U> d = (s[9] + s[10]) + (s[11] + s[12]), e = (s[13] + s[14]) + s[15];
    FpT<U> tail = (a + b) + (d + e);
    s[0].v = p2_sbox(s[0].v, c);
    p2_internal<U>(s, tail);
}
/// The permutation of the sixteen elements s[0..16].
template <typename U> inline void poseidon2_permute(thread FpT<U>* s) {
    p2_external<U>(s);
    // One loop for the external rounds of both sides: a GPU's instruction cache holds the whole permutation.
    MSL_ROLLED for (uint r = 0; r < 8u; r++) {
        if (r == 4u) {
            MSL_ROLLED for (uint k = 0; k < 13u; k++) p2_partial_round<U>(s, P2_RC_INTERNAL[k]);
        }
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
