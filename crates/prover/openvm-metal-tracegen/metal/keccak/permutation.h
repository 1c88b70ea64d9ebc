#pragma once
// The permutation Keccak-f[1600] in the steps between which OpenVM's columns lie. Lane x + 5 y of a state is A[x, y].
#include <metal_stdlib>
using namespace metal;

constant constexpr uint KECCAK_LANES = 25u, KECCAK_ROUNDS = 24u;

/// Rotations of the step rho, of lane x + 5 y.
constant constexpr uint KECCAK_ROTATIONS[25] = {0,  1,  62, 28, 27, 36, 44, 6,  55, 20, 3,  10, 43,
                                                25, 39, 41, 45, 15, 21, 8,  18, 2,  61, 56, 14};
/// Constants of the step iota.
constant constexpr ulong KECCAK_CONSTANTS[24] = {
    0x0000000000000001ul, 0x0000000000008082ul, 0x800000000000808aul, 0x8000000080008000ul, 0x000000000000808bul,
    0x0000000080000001ul, 0x8000000080008081ul, 0x8000000000008009ul, 0x000000000000008aul, 0x0000000000000088ul,
    0x0000000080008009ul, 0x000000008000000aul, 0x000000008000808bul, 0x800000000000008bul, 0x8000000000008089ul,
    0x8000000000008003ul, 0x8000000000008002ul, 0x8000000000000080ul, 0x000000000000800aul, 0x800000008000000aul,
    0x8000000080008081ul, 0x8000000000008080ul, 0x0000000080000001ul, 0x8000000080008008ul};

inline ulong rotated_left(ulong x, uint by) { return (x << (by & 63u)) | (x >> ((64u - by) & 63u)); }

/// theta: C[x] is the parity of a column of lanes, C'[x] that with the parities of its neighbours; A'[x, y] = A[x, y] ^ C[x] ^ C'[x].
inline void keccak_theta(thread ulong* a, thread ulong* c, thread ulong* c_prime) {
    MSL_UNROLL for (uint x = 0; x < 5u; x++) c[x] = a[x] ^ a[x + 5u] ^ a[x + 10u] ^ a[x + 15u] ^ a[x + 20u];
    MSL_UNROLL for (uint x = 0; x < 5u; x++) c_prime[x] = c[x] ^ c[(x + 4u) % 5u] ^ rotated_left(c[(x + 1u) % 5u], 1u);
    MSL_UNROLL for (uint i = 0; i < KECCAK_LANES; i++) a[i] ^= c[i % 5u] ^ c_prime[i % 5u];
}

/// rho, pi and chi: A' to A''.
inline void keccak_rho_pi_chi(thread ulong* a) {
    ulong b[KECCAK_LANES];
    MSL_UNROLL for (uint i = 0; i < KECCAK_LANES; i++) {
        uint x = i % 5u, y = i / 5u;
        b[y + 5u * ((2u * x + 3u * y) % 5u)] = rotated_left(a[i], KECCAK_ROTATIONS[i]);
    }
    MSL_UNROLL for (uint i = 0; i < KECCAK_LANES; i++) {
        uint x = i % 5u, row = i - x;
        a[i] = b[i] ^ (~b[row + (x + 1u) % 5u] & b[row + (x + 2u) % 5u]);
    }
}

/// The first `rounds` rounds.
inline void keccak_rounds(thread ulong* a, uint rounds) {
    ulong c[5], c_prime[5];
    MSL_ROLLED for (uint r = 0; r < rounds; r++) {
        keccak_theta(a, c, c_prime);
        keccak_rho_pi_chi(a);
        a[0] ^= KECCAK_CONSTANTS[r];
    }
}
