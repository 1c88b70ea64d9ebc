#pragma once
// LoadStore and LoadSignExtend.
#include "adapters.h"

constant constexpr uint LOADSTORE_COLUMNS = LOADSTORE_ADAPTER_COLUMNS + 18u;
constant constexpr uint LOADSTORE_WORDS = LOADSTORE_ADAPTER_WORDS + 6u;

/// The flags of an instruction and its shift, 2 bits each. LOADW 0, LOADBU 1, LOADHU 2, STOREW 3, STOREH 4, STOREB 5.
inline uint loadstore_flags(uint op, uint shift) {
    switch (op << 2 | shift) {
        case 0u: return 2u;             // LOADW
        case 4u: return 2u << 6;        // LOADBU
        case 5u: return 1u;
        case 6u: return 1u << 2;
        case 7u: return 1u << 4;
        case 8u: return 2u << 2;        // LOADHU
        case 10u: return 2u << 4;
        case 12u: return 1u << 6;       // STOREW
        case 16u: return 1u | 1u << 2;  // STOREH
        case 18u: return 1u | 1u << 4;
        case 20u: return 1u | 1u << 6;  // STOREB
        case 21u: return 1u << 2 | 1u << 4;
        case 22u: return 1u << 2 | 1u << 6;
        case 23u: return 1u << 4 | 1u << 6;
        default: return 0u;
    }
}

/// Words of the core: opcode, shift and two bytes of the data that is read; its other two; four cells before the write,
/// which may be elements of the field.
inline void loadstore(Row row, Record r, Lookups t) {
    loadstore_adapter(row, r, t);
    row = columns_from(row, LOADSTORE_ADAPTER_COLUMNS);
    uint head = r[LOADSTORE_ADAPTER_WORDS];
    uint op = head & 0xffu, shift = byte_of(head, 1u) & 3u;
    uint read = head >> 16 | r[LOADSTORE_ADAPTER_WORDS + 1u] << 16;
    uint flags = loadstore_flags(op, shift);
    for (uint i = 0; i < 4u; i++) put_number(row, i, (flags >> (2u * i)) & 3u);
    put_flag(row, 4u, true);
    put_flag(row, 5u, op < 3u);
    put_bytes(row, 6u, read);
    // Cells from `first` to `end` are those that were read, from cell `from` on; a load has zeros elsewhere, a store what was there.
    uint size = op == 0u || op == 3u ? 4u : op == 1u || op == 5u ? 1u : 2u;
    uint first = op < 3u ? 0u : shift, from = op < 3u ? shift : 0u;
    for (uint i = 0; i < 4u; i++) {
        uint before = r[LOADSTORE_ADAPTER_WORDS + 2u + i];
        put_number(row, 10u + i, before);
        bool moved = i >= first && i < first + size;
        uint written = op < 3u ? 0u : before;
        if (moved) written = byte_of(read, (i - first + from) & 3u);
        put_number(row, 14u + i, written);
    }
}

constant constexpr uint LOAD_SIGN_EXTEND_COLUMNS = LOADSTORE_ADAPTER_COLUMNS + 13u;
constant constexpr uint LOAD_SIGN_EXTEND_WORDS = LOADSTORE_ADAPTER_WORDS + 3u;
/// Words of the core: is_byte, shift, two bytes that are read; its other two, two bytes before the write; the other two of these.
inline void load_sign_extend(Row row, Record r, Lookups t) {
    loadstore_adapter(row, r, t);
    row = columns_from(row, LOADSTORE_ADAPTER_COLUMNS);
    uint w0 = r[LOADSTORE_ADAPTER_WORDS], w1 = r[LOADSTORE_ADAPTER_WORDS + 1u], w2 = r[LOADSTORE_ADAPTER_WORDS + 2u];
    bool is_byte = (w0 & 0xffu) != 0u;
    uint shift = byte_of(w0, 1u) & 3u, read = w0 >> 16 | w1 << 16, before = w1 >> 16 | w2 << 16;
    uint top = byte_of(read, is_byte ? shift : (shift + 1u) & 3u);
    bool high = (shift & 2u) != 0u;
    put_flag(row, 0u, is_byte && (shift & 1u) == 0u);
    put_flag(row, 1u, is_byte && (shift & 1u) == 1u);
    put_flag(row, 2u, !is_byte);
    put_flag(row, 3u, high);
    put_flag(row, 4u, (top & 0x80u) != 0u);
    put_bytes(row, 5u, high ? read >> 16 | read << 16 : read);
    put_bytes(row, 9u, before);
    request_range(t, top & 0x7fu, 7u);
}
