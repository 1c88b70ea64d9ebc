#pragma once
// The record of an instruction of SHA-2, and the row that the main chip makes of it.
#include "../sub_air/memory.h"

// Words of 4 bytes of a record: variant, program counter, timestamp, registers of destination, state and message, their values, timestamps
// before the accesses to them; the message, the state before and after it; timestamps before the accesses to message and state; with the
// values before them, those before the writes. Behind the first 12 there are twice as many for SHA-512 (W = ulong) as for SHA-256 (W = uint).
constant constexpr uint SHA2_MESSAGE = 12u;
template <typename W> inline uint sha2_state_before() { return SHA2_MESSAGE + 4u * uint(sizeof(W)); }
template <typename W> inline uint sha2_state_after() { return SHA2_MESSAGE + 6u * uint(sizeof(W)); }
template <typename W> inline uint sha2_record_words() { return SHA2_MESSAGE + 18u * uint(sizeof(W)); }

/// Columns of the main chip.
template <typename W> inline uint sha2_main_columns() { return 28u + 64u * uint(sizeof(W)); }
/// Instruction i of the segment: message and states byte by byte, then registers, pointers and accesses one after another.
template <typename W> inline void sha2_main(Row row, Record r, Lookups t, uint i) {
    constexpr uint parts = sizeof(W) / 4u, blocks = 32u * parts, reads = 24u * parts, writes = 8u * parts;
    uint now = r[2];
    put_number(row, 0u, i);
    for (uint k = 0; k < blocks; k++) put_bytes(row, 1u + 4u * k, r[SHA2_MESSAGE + k]);

    row = columns_from(row, 1u + 4u * blocks);
    put_flag(row, 0u, true);
    put_number(row, 1u, r[1]);
    put_number(row, 2u, now);
    for (uint k = 0; k < 3u; k++) {
        put_number(row, 3u + k, r[3u + k]);
        put_bytes(row, 6u + 4u * k, r[6u + k]);
        put_access(row, 18u + ACCESS_COLUMNS * k, t, r[9u + k], now + k);
    }
    uint shift = 32u - t.pointer_bits, message_top = byte_of(r[8], 3u) << shift;
    request_bytes(t, byte_of(r[6], 3u) << shift, byte_of(r[7], 3u) << shift);
    request_bytes(t, message_top, message_top);

    device const uint* before = r + SHA2_MESSAGE + blocks;
    for (uint k = 0; k < reads; k++) put_access(row, 27u + ACCESS_COLUMNS * k, t, before[k], now + 3u + k);
    for (uint k = 0; k < writes; k++) {
        uint column = 27u + ACCESS_COLUMNS * reads + 7u * k;
        put_access(row, column, t, before[reads + 2u * k], now + 3u + reads + k);
        put_bytes(row, column + ACCESS_COLUMNS, before[reads + 2u * k + 1u]);
    }
}
