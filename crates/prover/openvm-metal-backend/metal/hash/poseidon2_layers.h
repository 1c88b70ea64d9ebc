#pragma once
// Poseidon2's round constants and its external matrix: width 16, 4 + 13 + 4 rounds. Round constants are in Montgomery form minus p (as 32-bit
// words), so that state + constant lies in [-p, p); a test compares them with p3's tables.
#include "../field/baby_bear.h"

// The initial and then the final rounds, four words at a time.
#define P2_RC_EXTERNAL_ROWS(ROW) \
    ROW(0xe64d6937u, 0xf9385deeu, 0xe9ddbd39u, 0xa394117fu) ROW(0xd520d77cu, 0xda478026u, 0xfb2e57c2u, 0x98e63111u) \
    ROW(0xc499be26u, 0x8a218579u, 0xd3be9ab6u, 0xbac46132u) ROW(0xb762cc75u, 0xbf682265u, 0xa73714e2u, 0xe701dd7cu) \
    ROW(0xbd678505u, 0xefda0d23u, 0xbeb30089u, 0xe26765cbu) ROW(0xcdc068bcu, 0xb6d4b9ebu, 0xac9392d2u, 0x9d0a571bu) \
    ROW(0xb07549e9u, 0xc3edb1b7u, 0xed9e048du, 0xce023d6fu) ROW(0xa655a92cu, 0xa79c528eu, 0xd71ad61fu, 0xdc7fa87fu) \
    ROW(0xccc19b35u, 0xaac2f119u, 0x9fb67670u, 0xdddddeb3u) ROW(0xa318a7ecu, 0x9266840du, 0x923cd408u, 0xff1e5547u) \
    ROW(0xdbaaba91u, 0xf3bfe06fu, 0xa2d7c511u, 0xdef4fbf8u) ROW(0xb6e93eabu, 0xc767bc13u, 0xfe6f3f65u, 0xa4b5555bu) \
    ROW(0xd16b4855u, 0xd6e52288u, 0x96351626u, 0xfff2fa2au) ROW(0xc5176ccbu, 0xca103ad6u, 0xd48a5ba8u, 0xac2cfe15u) \
    ROW(0xc4e22e51u, 0xb2e06109u, 0xaf51c80au, 0xb5defdb6u) ROW(0xb803796du, 0xab4c77eau, 0xf07881f6u, 0xaf8ad902u) \
    ROW(0xc3983319u, 0x9a25b4ffu, 0xa8f18723u, 0xa2dd1eacu) ROW(0xafc8badfu, 0xef810937u, 0xd72405e0u, 0xccbd103eu) \
    ROW(0xb8ad7b46u, 0xc8251839u, 0xfa22068eu, 0xeb76b2e4u) ROW(0xd9651849u, 0xc22811cfu, 0xc57d5b9bu, 0xdb0c569cu) \
    ROW(0xe4aada1bu, 0xc506627cu, 0xe7fc6e6bu, 0x9cba29f7u) ROW(0xf9d1c1e8u, 0xb40fb8f6u, 0xa18b65e0u, 0xadbcff05u) \
    ROW(0x8f427c34u, 0x8d9b1121u, 0xd99ea060u, 0xd281a535u) ROW(0x8ecf9aa8u, 0xa6b2ca03u, 0x8aec7cabu, 0xfcf6c732u) \
    ROW(0xda4ebfddu, 0xf6dd9d08u, 0x8bdb6b20u, 0x8894e6fbu) ROW(0xec3ed13au, 0xb25eb828u, 0xc4cf7584u, 0xdc4a7135u) \
    ROW(0xe349128eu, 0x8a27bd54u, 0xb288bdacu, 0x8d5c4d16u) ROW(0xf7822c49u, 0x9f9a43f1u, 0xcaec1894u, 0xf0f3d82eu) \
    ROW(0xb8dcf521u, 0x9006ab71u, 0xf09d63dau, 0x891943f7u) ROW(0xed709cccu, 0xf23c56e0u, 0xe071ed93u, 0xc15e47bcu) \
    ROW(0xf6b895c3u, 0x95422bd8u, 0x8bc4b678u, 0xa6b56dddu) ROW(0xd85e67b4u, 0xc205211du, 0xe6d5c103u, 0xb21275f0u)

#define P2_UINT4(a, b, c, d) {a, b, c, d},
constant constexpr uint4 P2_RC_EXTERNAL[32] = {P2_RC_EXTERNAL_ROWS(P2_UINT4)};
#undef P2_UINT4

constant constexpr uint P2_RC_INTERNAL[13] = {
    0x96ee3c45u, 0xa78036ffu, 0xdfcbade5u, 0xc23d3471u, 0xf86866bcu, 0xc93da072u, 0x90ca8f34u, 0xaf9652bau,
    0x9fc601d9u, 0x9c0a84a0u, 0xe913337au, 0xbcf6e215u, 0xaaf9b8b1u,
};

/// a + b, on the pipe of logic of an NVIDIA GPU: S-boxes fill that of products.
template <typename U> inline FpT<U> p2_add(FpT<U> a, FpT<U> b) { return a + b; }
#if MSL_PTX
template <> inline Fp p2_add<uint>(Fp a, Fp b) {
    uint r = msl_add3<0u - FP_P>(a.v, b.v);
    return Fp{min(r, r + FP_P)};
}
#endif
/// The 4x4 circulant (2, 3, 1, 1) on x[0..4]: 11 additions, of which one is the compiler's to place.
template <typename U> inline void p2_mat4(thread FpT<U>* x) {
    FpT<U> t01 = p2_add(x[0], x[1]), t23 = p2_add(x[2], x[3]);
    FpT<U> t0123 = p2_add(t01, t23);
    FpT<U> t01123 = p2_add(t0123, x[1]), t01233 = p2_add(t0123, x[3]);
    x[3] = t01233 + p2_add(x[0], x[0]);
    x[1] = p2_add(t01123, p2_add(x[2], x[2]));
    x[0] = p2_add(t01123, t01);
    x[2] = p2_add(t01233, t23);
}
/// The external matrix: 72 additions.
template <typename U> inline void p2_external(thread FpT<U>* s) {
    MSL_UNROLL for (uint i = 0; i < 16u; i += 4u) p2_mat4<U>(s + i);
    FpT<U> sum[4];
    MSL_UNROLL for (uint k = 0; k < 4u; k++) sum[k] = p2_add(p2_add(s[k], s[k + 4]), p2_add(s[k + 8], s[k + 12]));
    MSL_UNROLL for (uint i = 0; i < 16u; i++) s[i] = p2_add(s[i], sum[i & 3u]);
}
/// Words 0..8 of the external matrix's result, or 8..16 if `upper`; the other half of s is of no use. The matrix is (1 + J) x M, where J adds up the
/// four blocks and M is the 4 x 4 matrix, so two blocks need no more than two products with M: 42 additions.
template <typename U> inline void p2_external_half(thread FpT<U>* s, bool upper) {
    FpT<U> x[8];
    MSL_UNROLL for (uint k = 0; k < 4u; k++) {
        // One sum is the compiler's to place: the quickest of several hundred texts.
        FpT<U> sum = p2_add(s[k] + s[k + 4], p2_add(s[k + 8], s[k + 12]));
        x[k] = p2_add(upper ? s[k + 8] : s[k], sum);
        x[k + 4] = p2_add(upper ? s[k + 12] : s[k + 4], sum);
    }
    p2_mat4<U>(x);
    p2_mat4<U>(x + 4);
    MSL_UNROLL for (uint k = 0; k < 8u; k++) {
        if (upper) s[k + 8] = x[k];
        else s[k] = x[k];
    }
}
constant constexpr uint P2_2EXP7 = uint((1ul << 39u) % FP_P);             // 2^7 in Montgomery form
constant constexpr uint P2_2EXP8 = uint((1ul << 40u) % FP_P);             // 2^8
constant constexpr uint P2_2EXP26 = uint((1ul << 58u) % FP_P);            // 2^26
constant constexpr uint P2_2EXP27 = uint((1ul << 59u) % FP_P);            // 2^27
constant constexpr uint P2_THIRD = uint((0x50000001ul << 32u) % FP_P);    // 1/3
constant constexpr uint P2_SIXTH = uint((0x64000001ul << 32u) % FP_P);    // 1/6
