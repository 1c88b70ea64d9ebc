#pragma once
// HintStore: stores words of the hint stream to memory, one a row.
#include "../sub_air/memory.h"

/// Bits of a number of words.
constant constexpr uint HINT_WORDS_BITS = 10u;

constant constexpr uint HINT_STORE_COLUMNS = 32u, HINT_STORE_WORDS = 12u;
/// Words of an instruction: number of words, program counter, timestamp, register of the pointer, pointer, timestamp before its read, register
/// of the number or none, timestamp before its read. Then the row's: its number, timestamp before the write, value before, value.
inline void hint_store(Row row, Record r, Lookups t) {
    uint at = r[8], now = r[2] + 3u * at, count = r[6], value = r[11];
    bool is_buffer = count != 0xffffffffu, is_first = at == 0u, is_start = is_first && is_buffer;
    put_flag(row, 0u, !is_buffer);
    put_flag(row, 1u, is_buffer);
    put_bytes(row, 2u, r[0] - at);
    put_number(row, 6u, r[1]);
    put_number(row, 7u, now);
    put_number(row, 8u, r[3]);
    put_bytes(row, 9u, r[4] + 4u * at);
    if (is_first) {
        put_access(row, 13u, t, r[5], now);
        request_bytes(t, byte_of(r[4], 3u) << (32u - t.pointer_bits), byte_of(r[0], 1u) << (16u - HINT_WORDS_BITS));
    } else {
        put_zeros(row, 13u, ACCESS_COLUMNS);
    }
    put_access(row, 16u, t, r[9], now + 2u);
    put_bytes(row, 19u, r[10]);
    put_bytes(row, 23u, value);
    request_bytes(t, byte_of(value, 0u), byte_of(value, 1u));
    request_bytes(t, byte_of(value, 2u), byte_of(value, 3u));
    put_flag(row, 27u, is_start);
    put_number(row, 28u, is_start ? count : 0u);
    if (is_start) {
        put_access(row, 29u, t, r[7], now + 1u);
    } else {
        put_zeros(row, 29u, ACCESS_COLUMNS);
    }
}
