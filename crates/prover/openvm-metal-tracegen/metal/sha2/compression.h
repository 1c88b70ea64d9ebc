#pragma once
// The compression functions of SHA-256 (W = uint) and SHA-512 (W = ulong) by rows of four rounds, as OpenVM's columns have them.
#include "../sub_air/row.h"

/// The constants of the rounds of SHA-512. Those of SHA-256 are the upper halves of the first 64.
constant constexpr ulong SHA2_CONSTANTS[80] = {
    0x428a2f98d728ae22ul, 0x7137449123ef65cdul, 0xb5c0fbcfec4d3b2ful, 0xe9b5dba58189dbbcul, 0x3956c25bf348b538ul,
    0x59f111f1b605d019ul, 0x923f82a4af194f9bul, 0xab1c5ed5da6d8118ul, 0xd807aa98a3030242ul, 0x12835b0145706fbeul,
    0x243185be4ee4b28cul, 0x550c7dc3d5ffb4e2ul, 0x72be5d74f27b896ful, 0x80deb1fe3b1696b1ul, 0x9bdc06a725c71235ul,
    0xc19bf174cf692694ul, 0xe49b69c19ef14ad2ul, 0xefbe4786384f25e3ul, 0x0fc19dc68b8cd5b5ul, 0x240ca1cc77ac9c65ul,
    0x2de92c6f592b0275ul, 0x4a7484aa6ea6e483ul, 0x5cb0a9dcbd41fbd4ul, 0x76f988da831153b5ul, 0x983e5152ee66dfabul,
    0xa831c66d2db43210ul, 0xb00327c898fb213ful, 0xbf597fc7beef0ee4ul, 0xc6e00bf33da88fc2ul, 0xd5a79147930aa725ul,
    0x06ca6351e003826ful, 0x142929670a0e6e70ul, 0x27b70a8546d22ffcul, 0x2e1b21385c26c926ul, 0x4d2c6dfc5ac42aedul,
    0x53380d139d95b3dful, 0x650a73548baf63deul, 0x766a0abb3c77b2a8ul, 0x81c2c92e47edaee6ul, 0x92722c851482353bul,
    0xa2bfe8a14cf10364ul, 0xa81a664bbc423001ul, 0xc24b8b70d0f89791ul, 0xc76c51a30654be30ul, 0xd192e819d6ef5218ul,
    0xd69906245565a910ul, 0xf40e35855771202aul, 0x106aa07032bbd1b8ul, 0x19a4c116b8d2d0c8ul, 0x1e376c085141ab53ul,
    0x2748774cdf8eeb99ul, 0x34b0bcb5e19b48a8ul, 0x391c0cb3c5c95a63ul, 0x4ed8aa4ae3418acbul, 0x5b9cca4f7763e373ul,
    0x682e6ff3d6b2b8a3ul, 0x748f82ee5defb2fcul, 0x78a5636f43172f60ul, 0x84c87814a1f0ab72ul, 0x8cc702081a6439ecul,
    0x90befffa23631e28ul, 0xa4506cebde82bde9ul, 0xbef9a3f7b2c67915ul, 0xc67178f2e372532bul, 0xca273eceea26619cul,
    0xd186b8c721c0c207ul, 0xeada7dd6cde0eb1eul, 0xf57d4f7fee6ed178ul, 0x06f067aa72176fbaul, 0x0a637dc5a2c898a6ul,
    0x113f9804bef90daeul, 0x1b710b35131c471bul, 0x28db77f523047d84ul, 0x32caab7b40c72493ul, 0x3c9ebe0a15c9bebcul,
    0x431d67c49c100d4cul, 0x4cc5d4becb3e42b6ul, 0x597f299cfc657e2aul, 0x5fcb6fab3ad6faecul, 0x6c44198c4a475817ul};
template <typename W> inline W sha2_constant(uint round) {
    return W(SHA2_CONSTANTS[round] >> (64u - 8u * uint(sizeof(W))));
}

template <typename W> inline W rotated_right(W x, uint by) { return (x >> by) | (x << (8u * uint(sizeof(W)) - by)); }

/// Sigma0 and Sigma1 of the rounds.
template <typename W> inline W sha2_upper_sigma_0(W x) {
    constexpr bool wide = sizeof(W) == 8u;
    return rotated_right(x, wide ? 28u : 2u) ^ rotated_right(x, wide ? 34u : 13u) ^ rotated_right(x, wide ? 39u : 22u);
}
template <typename W> inline W sha2_upper_sigma_1(W x) {
    constexpr bool wide = sizeof(W) == 8u;
    return rotated_right(x, wide ? 14u : 6u) ^ rotated_right(x, wide ? 18u : 11u) ^ rotated_right(x, wide ? 41u : 25u);
}
template <typename W> inline W sha2_choice(W x, W y, W z) { return z ^ (x & (y ^ z)); }
template <typename W> inline W sha2_majority(W x, W y, W z) { return (x & y) | (z & (x | y)); }

/// A sigma of the message schedule: two rotations and a shift to the right, added bit by bit.
struct Sha2Sigma {
    uint first, second, shift;
};
template <typename W> inline Sha2Sigma sha2_sigma_0() {
    constexpr bool wide = sizeof(W) == 8u;
    return Sha2Sigma{wide ? 1u : 7u, wide ? 8u : 18u, wide ? 7u : 3u};
}
template <typename W> inline Sha2Sigma sha2_sigma_1() {
    constexpr bool wide = sizeof(W) == 8u;
    return Sha2Sigma{wide ? 19u : 17u, wide ? 61u : 19u, wide ? 6u : 10u};
}
template <typename W> inline W sha2_sigma(Sha2Sigma s, W x) {
    return rotated_right(x, s.first) ^ rotated_right(x, s.second) ^ (x >> s.shift);
}

/// Word i of a message in memory, whose first byte is the highest.
template <typename W> inline W sha2_message_word(Record message, uint i) {
    constexpr uint parts = sizeof(W) / 4u;
    W word = W(0u);
    MSL_UNROLL for (uint k = 0; k < parts; k++) {
        uint x = message[parts * i + k];
        uint reversed = (x << 24) | ((x & 0xff00u) << 8) | ((x >> 8) & 0xff00u) | (x >> 24);
        word |= W(reversed) << (32u * (parts - 1u - k));
    }
    return word;
}
/// Word i of a state in memory, whose first byte is the lowest.
template <typename W> inline W sha2_state_word(Record state, uint i) {
    constexpr uint parts = sizeof(W) / 4u;
    W word = W(0u);
    MSL_UNROLL for (uint k = 0; k < parts; k++) word |= W(state[parts * i + k]) << (32u * k);
    return word;
}

/// The four rounds of a row, and as many before it as they are made of.
template <typename W> struct Sha2Rounds {
    W a[8];   ///< a after each round: four before the row, then the row's
    W e[8];   ///< e likewise
    W w[20];  ///< words of the message schedule: 16 before the row, then the row's
};

/// Goes to the next row, which keeps the words of this one until others are written.
template <typename W> inline void sha2_next_row(thread Sha2Rounds<W>& x) {
    MSL_UNROLL for (uint i = 0; i < 4u; i++) {
        x.a[i] = x.a[i + 4u];
        x.e[i] = x.e[i + 4u];
    }
    MSL_UNROLL for (uint i = 0; i < 16u; i++) x.w[i] = x.w[i + 4u];
}

/// The row of a state: a to d are those after the rounds before, the last first, and e to h likewise.
template <typename W> inline void sha2_put_state(thread Sha2Rounds<W>& x, Record state) {
    MSL_UNROLL for (uint i = 0; i < 4u; i++) {
        x.a[4u + i] = sha2_state_word<W>(state, 3u - i);
        x.e[4u + i] = sha2_state_word<W>(state, 7u - i);
    }
}

/// Goes to the next row, number `row` of its block, and does its rounds.
template <typename W> inline void sha2_do_rounds(thread Sha2Rounds<W>& x, Record message, uint row) {
    sha2_next_row(x);
    if (row < 4u) {
        MSL_UNROLL for (uint j = 0; j < 4u; j++) x.w[16u + j] = sha2_message_word<W>(message, 4u * row + j);
    } else {
        MSL_UNROLL for (uint j = 0; j < 4u; j++) {
            W sigmas = sha2_sigma(sha2_sigma_0<W>(), x.w[1u + j]) + sha2_sigma(sha2_sigma_1<W>(), x.w[14u + j]);
            x.w[16u + j] = x.w[j] + x.w[9u + j] + sigmas;
        }
    }
    MSL_UNROLL for (uint j = 0; j < 4u; j++) {
        W of_e = sha2_upper_sigma_1(x.e[j + 3u]) + sha2_choice(x.e[j + 3u], x.e[j + 2u], x.e[j + 1u]);
        W of_a = sha2_upper_sigma_0(x.a[j + 3u]) + sha2_majority(x.a[j + 3u], x.a[j + 2u], x.a[j + 1u]);
        W both = x.e[j] + of_e + sha2_constant<W>(4u * row + j) + x.w[16u + j];
        x.e[j + 4u] = x.a[j] + both;
        x.a[j + 4u] = both + of_a;
    }
}
