#pragma once
// XorinVm: an instruction that adds up to 136 bytes to a buffer, bit by bit.
#include "../sub_air/memory.h"

/// Words of 4 bytes that an instruction takes at most.
constant constexpr uint XORIN_MOST = 34u;

/// Words of a record: program counter, timestamp, three registers, their values (buffer, input, bytes), words of the buffer, of the input,
/// timestamps before the accesses to registers, input and buffer; with the values before them, those before the writes.
constant constexpr uint XORIN_WORDS = 215u, XORIN_BUFFER = 8u, XORIN_INPUT = 42u, XORIN_REGISTERS = 76u, XORIN_INPUT_READS = 79u,
                        XORIN_BUFFER_READS = 113u, XORIN_WRITES = 147u;

constant constexpr uint XORIN_COLUMNS = 914u;
inline void xorin(Row row, Record r, Lookups t) {
    uint now = r[1], buffer = r[5], input = r[6], length = r[7];
    uint words = min((length >> 2) + ((length & 3u) != 0u ? 1u : 0u), XORIN_MOST);
    put_number(row, 442u, r[0]);
    put_flag(row, 443u, true);
    for (uint i = 0; i < 3u; i++) {
        put_number(row, 444u + i, r[2u + i]);
        put_number(row, 447u + 5u * i, r[5u + i]);
        put_bytes(row, 448u + 5u * i, r[5u + i]);
        put_access(row, 463u + ACCESS_COLUMNS * i, t, r[XORIN_REGISTERS + i], now + i);
    }
    put_number(row, 462u, now);
    uint shift = 32u - t.pointer_bits, top = byte_of(length, 3u) << shift;
    request_bytes(t, byte_of(buffer, 3u) << shift, byte_of(input, 3u) << shift);
    request_bytes(t, top, top);

    for (uint i = 0; i < XORIN_MOST; i++) {
        bool is_used = i < words;
        uint bytes = is_used ? min(length - 4u * i, 4u) : 0u;
        uint kept = bytes == 4u ? 0xffffffffu : (1u << (8u * bytes)) - 1u;
        uint x = r[XORIN_BUFFER + i] & kept, y = r[XORIN_INPUT + i] & kept;
        put_flag(row, i, i >= length >> 2);
        put_bytes(row, 34u + 4u * i, x);
        put_bytes(row, 170u + 4u * i, y);
        put_bytes(row, 306u + 4u * i, x ^ y);
        for (uint k = 0; k < bytes; k++) request_xor(t, byte_of(x, k), byte_of(y, k));
        uint input_column = 472u + ACCESS_COLUMNS * i, buffer_column = 574u + ACCESS_COLUMNS * i, write_column = 676u + 7u * i;
        if (is_used) {
            put_access(row, buffer_column, t, r[XORIN_BUFFER_READS + i], now + 3u + i);
            put_access(row, input_column, t, r[XORIN_INPUT_READS + i], now + 3u + words + i);
            put_access(row, write_column, t, r[XORIN_WRITES + 2u * i], now + 3u + 2u * words + i);
            put_bytes(row, write_column + ACCESS_COLUMNS, r[XORIN_WRITES + 2u * i + 1u]);
        } else {
            put_zeros(row, buffer_column, ACCESS_COLUMNS);
            put_zeros(row, input_column, ACCESS_COLUMNS);
            put_zeros(row, write_column, 7u);
        }
    }
}
