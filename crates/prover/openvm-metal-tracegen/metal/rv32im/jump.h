#pragma once
// JalLui, Jalr and Auipc.
#include "adapters.h"

constant constexpr uint PC_BITS = 30u;

constant constexpr uint JAL_LUI_COLUMNS = COND_WRITE_ADAPTER_COLUMNS + 7u, JAL_LUI_WORDS = WRITE_ADAPTER_WORDS + 3u;
inline void jal_lui(Row row, Record r, Lookups t) {
    cond_write_adapter(row, r, t);
    row = columns_from(row, COND_WRITE_ADAPTER_COLUMNS);
    uint rd = r[WRITE_ADAPTER_WORDS + 1u];
    bool is_jal = (r[WRITE_ADAPTER_WORDS + 2u] & 0xffu) != 0u;
    put_number(row, 0u, r[WRITE_ADAPTER_WORDS]);
    put_bytes(row, 1u, rd);
    put_flag(row, 5u, is_jal);
    put_flag(row, 6u, !is_jal);
    request_bytes(t, byte_of(rd, 0u), byte_of(rd, 1u));
    request_bytes(t, byte_of(rd, 2u), byte_of(rd, 3u));
    // The bits of the highest limb that a program counter does not have.
    if (is_jal) request_xor(t, byte_of(rd, 3u), 0xc0u);
}

constant constexpr uint JALR_COLUMNS = JALR_ADAPTER_COLUMNS + 13u, JALR_WORDS = JALR_ADAPTER_WORDS + 4u;
inline void jalr(Row row, Record r, Lookups t) {
    jalr_adapter(row, r, t);
    row = columns_from(row, JALR_ADAPTER_COLUMNS);
    uint imm = r[JALR_ADAPTER_WORDS] & 0xffffu, pc = r[JALR_ADAPTER_WORDS + 1u], rs1 = r[JALR_ADAPTER_WORDS + 2u];
    uint imm_sign = r[JALR_ADAPTER_WORDS + 3u] & 0xffu;
    uint to = rs1 + imm + imm_sign * 0xffff0000u, rd = pc + 4u;
    uint low = (to & 0xffffu) >> 1, high = to >> 16;
    put_number(row, 0u, imm);
    put_bytes(row, 1u, rs1);
    for (uint i = 1u; i < 4u; i++) put_number(row, 4u + i, byte_of(rd, i));
    put_flag(row, 8u, true);
    put_number(row, 9u, to & 1u);
    put_number(row, 10u, low);
    put_number(row, 11u, high);
    put_flag(row, 12u, imm_sign != 0u);
    request_range(t, low, 15u);
    request_range(t, high, PC_BITS - 16u);
    request_bytes(t, byte_of(rd, 0u), byte_of(rd, 1u));
    request_range(t, byte_of(rd, 2u), 8u);
    request_range(t, byte_of(rd, 3u), PC_BITS - 24u);
}

constant constexpr uint AUIPC_COLUMNS = WRITE_ADAPTER_COLUMNS + 10u, AUIPC_WORDS = WRITE_ADAPTER_WORDS + 2u;
inline void auipc(Row row, Record r, Lookups t) {
    write_adapter(row, r, t);
    row = columns_from(row, WRITE_ADAPTER_COLUMNS);
    uint pc = r[WRITE_ADAPTER_WORDS], imm = r[WRITE_ADAPTER_WORDS + 1u], rd = pc + (imm << 8);
    put_flag(row, 0u, true);
    for (uint i = 0; i < 3u; i++) put_number(row, 1u + i, byte_of(imm, i));
    put_number(row, 4u, byte_of(pc, 1u));
    put_number(row, 5u, byte_of(pc, 2u));
    put_bytes(row, 6u, rd);
    request_bytes(t, byte_of(imm, 0u), byte_of(imm, 1u));
    request_bytes(t, byte_of(imm, 2u), byte_of(pc, 1u));
    request_bytes(t, byte_of(pc, 2u), byte_of(pc, 3u) << (32u - PC_BITS));
    request_bytes(t, byte_of(rd, 0u), byte_of(rd, 1u));
    request_bytes(t, byte_of(rd, 2u), byte_of(rd, 3u));
}
