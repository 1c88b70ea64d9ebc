#pragma once
// BaseAlu, LessThan and Shift: instructions with the ALU adapter.
#include "adapters.h"
#include "compare.h"

constant constexpr uint BASE_ALU_COLUMNS = ALU_ADAPTER_COLUMNS + 17u, BASE_ALU_WORDS = ALU_ADAPTER_WORDS + 3u;
/// ADD 0, SUB 1, XOR 2, OR 3, AND 4.
inline void base_alu(Row row, Record r, Lookups t) {
    alu_adapter(row, r, t);
    row = columns_from(row, ALU_ADAPTER_COLUMNS);
    uint b = r[ALU_ADAPTER_WORDS], c = r[ALU_ADAPTER_WORDS + 1u], op = r[ALU_ADAPTER_WORDS + 2u] & 0xffu;
    uint a = op == 0u ? b + c : op == 1u ? b - c : op == 2u ? b ^ c : op == 3u ? (b | c) : (b & c);
    put_bytes(row, 0u, a);
    put_bytes(row, 4u, b);
    put_bytes(row, 8u, c);
    for (uint i = 0; i < 5u; i++) put_flag(row, 12u + i, op == i);
    uint x = op < 2u ? a : b, y = op < 2u ? a : c;
    for (uint i = 0; i < 4u; i++) request_xor(t, byte_of(x, i), byte_of(y, i));
}

constant constexpr uint LESS_THAN_COLUMNS = ALU_ADAPTER_COLUMNS + 18u, LESS_THAN_WORDS = ALU_ADAPTER_WORDS + 3u;
/// SLT 0, SLTU 1.
inline void less_than(Row row, Record r, Lookups t) {
    alu_adapter(row, r, t);
    row = columns_from(row, ALU_ADAPTER_COLUMNS);
    uint b = r[ALU_ADAPTER_WORDS], c = r[ALU_ADAPTER_WORDS + 1u], op = r[ALU_ADAPTER_WORDS + 2u] & 0xffu;
    Comparison compared = compare(b, c, op == 0u);
    put_bytes(row, 0u, b);
    put_bytes(row, 4u, c);
    put_flag(row, 8u, compared.less);
    put_flag(row, 9u, op == 0u);
    put_flag(row, 10u, op != 0u);
    put_comparison(row, 11u, 13u, 4u, compared, t);
}

constant constexpr uint SHIFT_COLUMNS = ALU_ADAPTER_COLUMNS + 34u, SHIFT_WORDS = ALU_ADAPTER_WORDS + 3u;
/// SLL 0, SRL 1, SRA 2.
inline void shift(Row row, Record r, Lookups t) {
    alu_adapter(row, r, t);
    row = columns_from(row, ALU_ADAPTER_COLUMNS);
    uint b = r[ALU_ADAPTER_WORDS], c = r[ALU_ADAPTER_WORDS + 1u], op = r[ALU_ADAPTER_WORDS + 2u] & 0xffu;
    uint by = c & 31u, bits = by & 7u, limbs = by >> 3;
    uint a = op == 0u ? b << by : op == 1u ? b >> by : uint(int(b) >> int(by));
    put_bytes(row, 0u, a);
    put_bytes(row, 4u, b);
    put_bytes(row, 8u, c);
    for (uint i = 0; i < 3u; i++) put_flag(row, 12u + i, op == i);
    put_number(row, 15u, op == 0u ? 1u << bits : 0u);
    put_number(row, 16u, op == 0u ? 0u : 1u << bits);
    put_flag(row, 17u, op == 2u && (b >> 31) != 0u);
    for (uint i = 0; i < 8u; i++) put_flag(row, 18u + i, bits == i);
    for (uint i = 0; i < 4u; i++) put_flag(row, 26u + i, limbs == i);
    for (uint i = 0; i < 4u; i++) {
        uint limb = byte_of(b, i);
        uint carry = op == 0u ? limb >> (8u - bits) : limb & ((1u << bits) - 1u);
        put_number(row, 30u + i, carry);
        request_range(t, carry, bits);
    }
    request_bytes(t, byte_of(a, 0u), byte_of(a, 1u));
    request_bytes(t, byte_of(a, 2u), byte_of(a, 3u));
    request_range(t, byte_of(c, 0u) >> 5, 3u);
    if (op == 2u) request_xor(t, byte_of(b, 3u), 0x80u);
}
