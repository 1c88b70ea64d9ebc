#pragma once
// KeccakfOp: an instruction that permutes 200 bytes in memory. KeccakfPerm: the rounds of its permutation.
#include "../sub_air/memory.h"
#include "permutation.h"

/// Words of a record: program counter, timestamp, register, its value, timestamps before the accesses to it and to 50 words, state.
constant constexpr uint KECCAKF_WORDS = 105u, KECCAKF_BEFORE = 4u, KECCAKF_STATE = 55u;

inline void keccakf_state(Record r, thread ulong* a) {
    MSL_UNROLL for (uint i = 0; i < KECCAK_LANES; i++)
        a[i] = ulong(r[KECCAKF_STATE + 2u * i]) | ulong(r[KECCAKF_STATE + 2u * i + 1u]) << 32;
}

constant constexpr uint KECCAKF_OP_COLUMNS = 561u;
inline void keccakf_op(Row row, Record r, Lookups t) {
    uint now = r[1], buffer = r[3];
    put_number(row, 0u, r[0]);
    put_flag(row, 1u, true);
    put_number(row, 2u, now);
    put_number(row, 3u, r[2]);
    put_bytes(row, 4u, buffer);
    uint top = byte_of(buffer, 3u) << (32u - t.pointer_bits);
    request_bytes(t, top, top);

    ulong a[KECCAK_LANES];
    keccakf_state(r, a);
    keccak_rounds(a, KECCAK_ROUNDS);
    MSL_UNROLL for (uint i = 0; i < KECCAK_LANES; i++) {
        MSL_UNROLL for (uint part = 0; part < 2u; part++) {
            uint after = uint(a[i] >> (32u * part)), word = 2u * i + part;
            put_bytes(row, 8u + 4u * word, r[KECCAKF_STATE + word]);
            put_bytes(row, 208u + 4u * word, after);
            request_bytes(t, byte_of(after, 0u), byte_of(after, 1u));
            request_bytes(t, byte_of(after, 2u), byte_of(after, 3u));
        }
    }
    for (uint i = 0; i < 51u; i++) put_access(row, 408u + ACCESS_COLUMNS * i, t, r[KECCAKF_BEFORE + i], now + i);
}

/// The 64 bits of a lane, the lowest first.
inline void put_bits(Row row, uint column, ulong lane) {
    for (uint i = 0; i < 64u; i++) put_flag(row, column + i, ((lane >> i) & 1ul) != 0ul);
}
/// The four limbs of 16 bits of a lane, the lowest first.
inline void put_limbs(Row row, uint column, ulong lane) {
    for (uint i = 0; i < 4u; i++) put_number(row, column + i, uint(lane >> (16u * i)) & 0xffffu);
}

constant constexpr uint KECCAKF_PERM_COLUMNS = 2634u;
/// Round `round` of the permutation of `before`. The last one has the timestamp of its instruction; padding has none.
inline void keccakf_perm(Row row, thread ulong* a, uint round, bool is_used, uint timestamp) {
    for (uint i = 0; i < KECCAK_ROUNDS; i++) put_flag(row, i, i == round);
    bool is_last = is_used && round == KECCAK_ROUNDS - 1u;
    put_flag(row, 24u, is_last);
    MSL_UNROLL for (uint i = 0; i < KECCAK_LANES; i++) put_limbs(row, 25u + 4u * i, a[i]);
    keccak_rounds(a, round);
    MSL_UNROLL for (uint i = 0; i < KECCAK_LANES; i++) put_limbs(row, 125u + 4u * i, a[i]);
    ulong c[5], c_prime[5];
    keccak_theta(a, c, c_prime);
    MSL_UNROLL for (uint x = 0; x < 5u; x++) {
        put_bits(row, 225u + 64u * x, c[x]);
        put_bits(row, 545u + 64u * x, c_prime[x]);
    }
    MSL_UNROLL for (uint i = 0; i < KECCAK_LANES; i++) put_bits(row, 865u + 64u * i, a[i]);
    keccak_rho_pi_chi(a);
    MSL_UNROLL for (uint i = 0; i < KECCAK_LANES; i++) put_limbs(row, 2465u + 4u * i, a[i]);
    put_bits(row, 2565u, a[0]);
    put_limbs(row, 2629u, a[0] ^ KECCAK_CONSTANTS[round]);
    put_number(row, 2633u, is_last ? timestamp : 0u);
}
