#pragma once
// The chips of 256-bit integers. Each has an adapter, and the columns of its twin in rv32im with 32 limbs.
#include "../rv32im/compare.h"
#include "adapters.h"

constant constexpr uint BASE_ALU_256_COLUMNS = HEAP_ADAPTER_COLUMNS + 101u, BASE_ALU_256_WORDS = HEAP_ADAPTER_WORDS + 17u;
/// ADD 0, SUB 1, XOR 2, OR 3, AND 4.
inline void base_alu_256(Row row, Record r, Lookups t) {
    heap_adapter(row, r, t);
    row = columns_from(row, HEAP_ADAPTER_COLUMNS);
    device const uint* x = r + HEAP_ADAPTER_WORDS;
    device const uint* y = x + LONG_WORDS;
    uint op = y[LONG_WORDS] & 0xffu, carry = 0u;
    for (uint i = 0; i < LONG_WORDS; i++) {
        uint b = x[i], c = y[i], a = op == 2u ? b ^ c : op == 3u ? (b | c) : (b & c);
        if (op == 0u) {
            uint sum = b + c;
            a = sum + carry;
            carry = (sum < b || a < sum) ? 1u : 0u;
        } else if (op == 1u) {
            uint difference = b - c;
            a = difference - carry;
            carry = (b < c || difference < carry) ? 1u : 0u;
        }
        put_bytes(row, 4u * i, a);
        uint u = op < 2u ? a : b, v = op < 2u ? a : c;
        for (uint k = 0; k < 4u; k++) request_xor(t, byte_of(u, k), byte_of(v, k));
    }
    put_long(row, 32u, x);
    put_long(row, 64u, y);
    for (uint i = 0; i < 5u; i++) put_flag(row, 96u + i, op == i);
}

/// The comparison of two numbers by their most significant limb that differs, 32 if none does.
inline Comparison compare_256(Record x, Record y, bool is_signed) {
    uint word = LONG_WORDS - 1u;
    while (word > 0u && x[word] == y[word]) word--;
    Comparison r = compare(x[word], y[word], is_signed && word == LONG_WORDS - 1u);
    r.limb = r.limb == 4u ? 32u : 4u * word + r.limb;
    uint x_high = x[LONG_WORDS - 1u], y_high = y[LONG_WORDS - 1u];
    r.x_top = is_signed ? int(x_high) >> 24 : int(x_high >> 24);
    r.y_top = is_signed ? int(y_high) >> 24 : int(y_high >> 24);
    r.offset = is_signed ? 128u : 0u;
    return r;
}

constant constexpr uint LESS_THAN_256_COLUMNS = HEAP_ADAPTER_COLUMNS + 102u, LESS_THAN_256_WORDS = HEAP_ADAPTER_WORDS + 17u;
/// SLT 0, SLTU 1.
inline void less_than_256(Row row, Record r, Lookups t) {
    heap_adapter(row, r, t);
    row = columns_from(row, HEAP_ADAPTER_COLUMNS);
    device const uint* x = r + HEAP_ADAPTER_WORDS;
    device const uint* y = x + LONG_WORDS;
    uint op = y[LONG_WORDS] & 0xffu;
    Comparison compared = compare_256(x, y, op == 0u);
    put_long(row, 0u, x);
    put_long(row, 32u, y);
    put_flag(row, 64u, compared.less);
    put_flag(row, 65u, op == 0u);
    put_flag(row, 66u, op != 0u);
    put_comparison(row, 67u, 69u, 32u, compared, t);
}

constant constexpr uint SHIFT_256_COLUMNS = HEAP_ADAPTER_COLUMNS + 174u, SHIFT_256_WORDS = HEAP_ADAPTER_WORDS + 17u;
/// SLL 0, SRL 1, SRA 2.
inline void shift_256(Row row, Record r, Lookups t) {
    heap_adapter(row, r, t);
    row = columns_from(row, HEAP_ADAPTER_COLUMNS);
    device const uint* x = r + HEAP_ADAPTER_WORDS;
    device const uint* y = x + LONG_WORDS;
    uint op = y[LONG_WORDS] & 0xffu, by = y[0] & 0xffu, bits = by & 7u;
    bool is_negative = op == 2u && (x[LONG_WORDS - 1u] >> 31) != 0u;
    uint fill = is_negative ? 0xffffffffu : 0u, words = by >> 5, rest = by & 31u;
    for (uint i = 0; i < LONG_WORDS; i++) {
        uint a = op == 0u ? word_or(x, i - words, 0u) << rest : word_or(x, i + words, fill) >> rest;
        if (rest != 0u) {
            a |= op == 0u ? word_or(x, i - words - 1u, 0u) >> (32u - rest) : word_or(x, i + words + 1u, fill) << (32u - rest);
        }
        put_bytes(row, 4u * i, a);
        request_bytes(t, byte_of(a, 0u), byte_of(a, 1u));
        request_bytes(t, byte_of(a, 2u), byte_of(a, 3u));
        for (uint k = 0; k < 4u; k++) {
            uint limb = byte_of(x[i], k);
            uint carry = op == 0u ? limb >> (8u - bits) : limb & ((1u << bits) - 1u);
            put_number(row, 142u + 4u * i + k, carry);
            request_range(t, carry, bits);
        }
    }
    put_long(row, 32u, x);
    put_long(row, 64u, y);
    for (uint i = 0; i < 3u; i++) put_flag(row, 96u + i, op == i);
    put_number(row, 99u, op == 0u ? 1u << bits : 0u);
    put_number(row, 100u, op == 0u ? 0u : 1u << bits);
    put_flag(row, 101u, is_negative);
    for (uint i = 0; i < 8u; i++) put_flag(row, 102u + i, bits == i);
    for (uint i = 0; i < 32u; i++) put_flag(row, 110u + i, by >> 3 == i);
    // The bits of the lowest limb that are no part of the distance: none.
    request_range(t, 0u, 0u);
    if (op == 2u) request_xor(t, byte_of(x[LONG_WORDS - 1u], 3u), 0x80u);
}

constant constexpr uint MUL_256_COLUMNS = HEAP_ADAPTER_COLUMNS + 97u, MUL_256_WORDS = HEAP_ADAPTER_WORDS + 16u;
/// The product modulo 2^256, limb by limb with its carries.
inline void mul_256(Row row, Record r, Lookups t) {
    heap_adapter(row, r, t);
    row = columns_from(row, HEAP_ADAPTER_COLUMNS);
    device const uint* x = r + HEAP_ADAPTER_WORDS;
    device const uint* y = x + LONG_WORDS;
    uint carry = 0u;
    for (uint i = 0; i < 32u; i++) {
        uint value = carry;
        for (uint j = 0; j <= i; j++) value += byte_of(x[j >> 2], j & 3u) * byte_of(y[(i - j) >> 2], (i - j) & 3u);
        carry = value >> 8;
        put_number(row, i, value & 0xffu);
        request_tuple(t, value & 0xffu, carry);
    }
    put_long(row, 32u, x);
    put_long(row, 64u, y);
    put_flag(row, 96u, true);
}

constant constexpr uint BRANCH_EQ_256_COLUMNS = HEAP_BRANCH_ADAPTER_COLUMNS + 100u;
constant constexpr uint BRANCH_EQ_256_WORDS = HEAP_BRANCH_ADAPTER_WORDS + 18u;
/// BEQ 0, BNE 1.
inline void branch_eq_256(Row row, Record r, Lookups t) {
    heap_branch_adapter(row, r, t);
    row = columns_from(row, HEAP_BRANCH_ADAPTER_COLUMNS);
    device const uint* x = r + HEAP_BRANCH_ADAPTER_WORDS;
    device const uint* y = x + LONG_WORDS;
    uint op = y[LONG_WORDS + 1u] & 0xffu, word = 0u;
    while (word < LONG_WORDS - 1u && x[word] == y[word]) word++;
    uint differs = x[word] ^ y[word], limb = 32u;
    Fp inverse = Fp{0u};
    if (differs != 0u) {
        uint in_word = (31u - clz(differs & (0u - differs))) >> 3;
        limb = 4u * word + in_word;
        inverse = fp_inv(fp_from_u32(byte_of(x[word], in_word)) - fp_from_u32(byte_of(y[word], in_word)));
    }
    put_long(row, 0u, x);
    put_long(row, 32u, y);
    put_flag(row, 64u, (differs == 0u) == (op == 0u));
    put_number(row, 65u, y[LONG_WORDS]);
    put_flag(row, 66u, op == 0u);
    put_flag(row, 67u, op == 1u);
    for (uint i = 0; i < 32u; i++) put(row, 68u + i, limb == i ? inverse : Fp{0u});
}

constant constexpr uint BRANCH_LT_256_COLUMNS = HEAP_BRANCH_ADAPTER_COLUMNS + 106u;
constant constexpr uint BRANCH_LT_256_WORDS = HEAP_BRANCH_ADAPTER_WORDS + 18u;
/// BLT 0, BLTU 1, BGE 2, BGEU 3.
inline void branch_lt_256(Row row, Record r, Lookups t) {
    heap_branch_adapter(row, r, t);
    row = columns_from(row, HEAP_BRANCH_ADAPTER_COLUMNS);
    device const uint* x = r + HEAP_BRANCH_ADAPTER_WORDS;
    device const uint* y = x + LONG_WORDS;
    uint op = y[LONG_WORDS + 1u] & 0xffu;
    Comparison compared = compare_256(x, y, (op & 1u) == 0u);
    put_long(row, 0u, x);
    put_long(row, 32u, y);
    put_flag(row, 64u, compared.less != (op >= 2u));
    put_number(row, 65u, y[LONG_WORDS]);
    for (uint i = 0; i < 4u; i++) put_flag(row, 66u + i, op == i);
    put_flag(row, 72u, compared.less);
    put_comparison(row, 70u, 73u, 32u, compared, t);
}
