#pragma once
// A row of OpenVM's Poseidon2 chip: one permutation with the values between its rounds.
#include "../../../openvm-metal-backend/metal/hash/poseidon2_layers.h"
#include "../sub_air/row.h"

/// Words of the permutation.
constant constexpr uint P2_WIDTH = 16u;

/// Columns of a row, written one after another.
struct P2Columns {
    Row row;
    uint next;
};
inline void push(thread P2Columns& to, Fp value) { put(to.row, to.next++, value); }

/// (x + c)^7, c given as c - p. Writes (x + c)^3, if the chip has a column for it.
inline Fp p2_sbox_columns(thread P2Columns& to, bool cubes, Fp x, uint c) {
    Fp y = Fp{x.v + c};
    y.v = min(y.v, y.v + FP_P);
    Fp cube = y * y * y;
    if (cubes) push(to, cube);
    return cube * cube * y;
}

/// Four external rounds, from round constants 16 * `first` on: cubes of the S-boxes, then the state after each round.
inline void p2_external_rounds(thread P2Columns& to, bool cubes, thread Fp* s, uint first) {
    MSL_ROLLED for (uint r = first; r < first + 4u; r++) {
        MSL_UNROLL for (uint i = 0; i < 4u; i++) {
            uint4 c = P2_RC_EXTERNAL[4u * r + i];
            s[4u * i] = p2_sbox_columns(to, cubes, s[4u * i], c.x);
            s[4u * i + 1u] = p2_sbox_columns(to, cubes, s[4u * i + 1u], c.y);
            s[4u * i + 2u] = p2_sbox_columns(to, cubes, s[4u * i + 2u], c.z);
            s[4u * i + 3u] = p2_sbox_columns(to, cubes, s[4u * i + 3u], c.w);
        }
        p2_external<uint>(s);
        MSL_UNROLL for (uint i = 0; i < P2_WIDTH; i++) push(to, s[i]);
    }
}

/// The 13 internal rounds: the S-box of the first word, its cube before it, then s -> (1 + Diag(V)) s,
/// V = [-2, 1, 2, 1/2, 3, 4, -1/2, -3, -4, 2^-8, 1/4, 1/8, 2^-27, -2^-8, -1/16, -2^-27].
inline void p2_internal_rounds(thread P2Columns& to, bool cubes, thread Fp* s) {
    MSL_ROLLED for (uint r = 0; r < 13u; r++) {
        s[0] = p2_sbox_columns(to, cubes, s[0], P2_RC_INTERNAL[r]);
        push(to, s[0]);
        Fp sum = s[0];
        MSL_UNROLL for (uint i = 1; i < P2_WIDTH; i++) sum = sum + s[i];
        s[0] = sum - fp_double(s[0]);
        s[1] = sum + s[1];
        s[2] = sum + fp_double(s[2]);
        s[3] = sum + fp_halve(s[3]);
        s[4] = sum + fp_double(s[4]) + s[4];
        s[5] = sum + fp_double(fp_double(s[5]));
        s[6] = sum - fp_halve(s[6]);
        s[7] = sum - fp_double(s[7]) - s[7];
        s[8] = sum - fp_double(fp_double(s[8]));
        s[9] = sum + fp_div_2exp<8>(s[9]);
        s[10] = sum + fp_div_2exp<2>(s[10]);
        s[11] = sum + fp_div_2exp<3>(s[11]);
        s[12] = sum + fp_div_2exp<27>(s[12]);
        s[13] = sum - fp_div_2exp<8>(s[13]);
        s[14] = sum - fp_div_2exp<4>(s[14]);
        s[15] = sum - fp_div_2exp<27>(s[15]);
    }
}

/// OpenVM's Poseidon2PeripheryCols: 1, the input, the rounds, and how often the permutation is looked up.
inline void put_permutation(Row row, bool cubes, thread Fp* s, uint lookups) {
    P2Columns to = P2Columns{row, 0u};
    push(to, Fp{FP_ONE});
    MSL_UNROLL for (uint i = 0; i < P2_WIDTH; i++) push(to, s[i]);
    p2_external<uint>(s);
    p2_external_rounds(to, cubes, s, 0u);
    p2_internal_rounds(to, cubes, s);
    p2_external_rounds(to, cubes, s, 4u);
    push(to, fp_from_u32(lookups));
}
