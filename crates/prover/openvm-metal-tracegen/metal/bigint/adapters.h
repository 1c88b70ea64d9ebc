#pragma once
// Adapters of 256-bit integers: registers point to numbers of 8 words in memory.
#include "../sub_air/memory.h"

/// Words of a number.
constant constexpr uint LONG_WORDS = 8u;

/// The highest byte of a pointer, scaled so that it is a byte if the pointer is in range.
inline uint pointer_top(uint pointer, Lookups t) { return byte_of(pointer, 3u) << (32u - t.pointer_bits); }

constant constexpr uint HEAP_ADAPTER_COLUMNS = 130u, HEAP_ADAPTER_WORDS = 43u;
/// Rv32VecHeapAdapter: [rd] = [rs1] op [rs2]. 27 accesses one after another: registers, 16 words read, 8 words written.
inline void heap_adapter(Row row, Record r, Lookups t) {
    uint now = r[1];
    for (uint i = 0; i < 5u; i++) put_number(row, i, r[i]);
    for (uint i = 0; i < 3u; i++) put_bytes(row, 5u + 4u * i, r[5u + i]);
    request_bytes(t, pointer_top(r[5], t), pointer_top(r[6], t));
    request_bytes(t, pointer_top(r[7], t), pointer_top(r[7], t));
    for (uint i = 0; i < 19u; i++) put_access(row, 17u + ACCESS_COLUMNS * i, t, r[8u + i], now + i);
    for (uint i = 0; i < LONG_WORDS; i++) {
        put_access(row, 74u + 7u * i, t, r[27u + 2u * i], now + 19u + i);
        put_bytes(row, 77u + 7u * i, r[28u + 2u * i]);
    }
}

constant constexpr uint HEAP_BRANCH_ADAPTER_COLUMNS = 66u, HEAP_BRANCH_ADAPTER_WORDS = 24u;
/// Rv32VecHeapBranchAdapter: compares [rs1] and [rs2]. 18 accesses one after another: registers, 16 words read.
inline void heap_branch_adapter(Row row, Record r, Lookups t) {
    uint now = r[1];
    for (uint i = 0; i < 4u; i++) put_number(row, i, r[i]);
    for (uint i = 0; i < 2u; i++) put_bytes(row, 4u + 4u * i, r[4u + i]);
    request_bytes(t, pointer_top(r[4], t), pointer_top(r[5], t));
    for (uint i = 0; i < 18u; i++) put_access(row, 12u + ACCESS_COLUMNS * i, t, r[6u + i], now + i);
}

/// The 32 bytes of a number in 32 columns, the lowest first.
inline void put_long(Row row, uint column, Record x) {
    for (uint i = 0; i < LONG_WORDS; i++) put_bytes(row, column + 4u * i, x[i]);
}
/// Word i of a number with words of `fill` on both sides.
inline uint word_or(Record x, uint i, uint fill) { return i < LONG_WORDS ? x[i] : fill; }
