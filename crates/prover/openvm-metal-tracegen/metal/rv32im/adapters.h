#pragma once
// Adapters of rv32im: columns and words of records that instructions of one shape share.
// A record is a sequence of words; OpenVM's structs with their offsets are compared in src/rv32im.rs.
#include "../sub_air/memory.h"

/// No register is written.
constant constexpr uint NO_REGISTER = 0xffffffffu;

constant constexpr uint ALU_ADAPTER_COLUMNS = 19u, ALU_ADAPTER_WORDS = 10u;
/// Rv32BaseAluAdapter: rd = rs1 op (rs2 or an immediate).
inline void alu_adapter(Row row, Record r, Lookups t) {
    uint now = r[1], rs2 = r[4], rs2_is_register = r[5] & 0xffu;
    put_number(row, 0u, r[0]);
    put_number(row, 1u, now);
    put_number(row, 2u, r[2]);
    put_number(row, 3u, r[3]);
    put_number(row, 4u, rs2);
    put_number(row, 5u, rs2_is_register);
    put_access(row, 6u, t, r[6], now);
    if (rs2_is_register != 0u) {
        put_access(row, 9u, t, r[7], now + 1u);
    } else {
        put_zeros(row, 9u, ACCESS_COLUMNS);
        request_bytes(t, byte_of(rs2, 0u), byte_of(rs2, 1u));
    }
    put_access(row, 12u, t, r[8], now + 2u);
    put_bytes(row, 15u, r[9]);
}

constant constexpr uint MUL_ADAPTER_COLUMNS = 18u, MUL_ADAPTER_WORDS = 9u;
/// Rv32MultAdapter: rd = rs1 op rs2.
inline void mul_adapter(Row row, Record r, Lookups t) {
    uint now = r[1];
    put_number(row, 0u, r[0]);
    put_number(row, 1u, now);
    for (uint i = 2u; i < 5u; i++) put_number(row, i, r[i]);
    put_access(row, 5u, t, r[5], now);
    put_access(row, 8u, t, r[6], now + 1u);
    put_access(row, 11u, t, r[7], now + 2u);
    put_bytes(row, 14u, r[8]);
}

constant constexpr uint BRANCH_ADAPTER_COLUMNS = 10u, BRANCH_ADAPTER_WORDS = 6u;
/// Rv32BranchAdapter: compares rs1 and rs2.
inline void branch_adapter(Row row, Record r, Lookups t) {
    uint now = r[1];
    put_number(row, 0u, r[0]);
    put_number(row, 1u, now);
    put_number(row, 2u, r[2]);
    put_number(row, 3u, r[3]);
    put_access(row, 4u, t, r[4], now);
    put_access(row, 7u, t, r[5], now + 1u);
}

constant constexpr uint WRITE_ADAPTER_COLUMNS = 10u, WRITE_ADAPTER_WORDS = 5u;
/// Rv32RdWriteAdapter: writes rd, unless there is none.
inline void write_adapter(Row row, Record r, Lookups t) {
    uint now = r[1], rd = r[2];
    put_number(row, 0u, r[0]);
    put_number(row, 1u, now);
    if (rd != NO_REGISTER) {
        put_number(row, 2u, rd);
        put_access(row, 3u, t, r[3], now);
        put_bytes(row, 6u, r[4]);
    } else {
        put_zeros(row, 2u, 8u);
    }
}

constant constexpr uint COND_WRITE_ADAPTER_COLUMNS = 11u;
/// Rv32CondRdWriteAdapter: as write_adapter, with a column that says if there is a register.
inline void cond_write_adapter(Row row, Record r, Lookups t) {
    write_adapter(row, r, t);
    put_flag(row, 10u, r[2] != NO_REGISTER);
}

constant constexpr uint JALR_ADAPTER_COLUMNS = 15u, JALR_ADAPTER_WORDS = 7u;
/// Rv32JalrAdapter: reads rs1, writes rd unless there is none.
inline void jalr_adapter(Row row, Record r, Lookups t) {
    uint now = r[1], rd = r[3];
    put_number(row, 0u, r[0]);
    put_number(row, 1u, now);
    put_number(row, 2u, r[2]);
    put_access(row, 3u, t, r[4], now);
    if (rd != NO_REGISTER) {
        put_number(row, 6u, rd);
        put_access(row, 7u, t, r[5], now + 1u);
        put_bytes(row, 10u, r[6]);
    } else {
        put_zeros(row, 6u, 8u);
    }
    put_flag(row, 14u, rd != NO_REGISTER);
}

constant constexpr uint LOADSTORE_ADAPTER_COLUMNS = 23u, LOADSTORE_ADAPTER_WORDS = 9u;
/// Rv32LoadStoreAdapter: reads rs1, and moves a value between a register and the memory at rs1 + imm.
inline void loadstore_adapter(Row row, Record r, Lookups t) {
    uint now = r[1], rs1 = r[3], register_ptr = r[5];
    uint imm = r[7] & 0xffffu, imm_sign = byte_of(r[7], 2u), space = byte_of(r[7], 3u);
    uint pointer = rs1 + imm + imm_sign * 0xffff0000u;
    put_number(row, 0u, r[0]);
    put_number(row, 1u, now);
    put_number(row, 2u, r[2]);
    put_bytes(row, 3u, rs1);
    put_access(row, 7u, t, r[4], now);
    put_number(row, 10u, register_ptr != NO_REGISTER ? register_ptr : 0u);
    put_access(row, 11u, t, r[6], now + 1u);
    put_number(row, 14u, imm);
    put_flag(row, 15u, imm_sign != 0u);
    put_number(row, 16u, pointer & 0xffffu);
    put_number(row, 17u, pointer >> 16);
    request_range(t, (pointer & 0xffffu) >> 2, 14u);
    request_range(t, pointer >> 16, t.pointer_bits - 16u);
    put_number(row, 18u, space);
    if (register_ptr != NO_REGISTER) {
        put_access(row, 19u, t, r[8], now + 2u);
    } else {
        put_zeros(row, 19u, ACCESS_COLUMNS);
    }
    put_flag(row, 22u, register_ptr != NO_REGISTER);
}
