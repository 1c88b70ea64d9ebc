#pragma once
// A row of a column-major trace, and the record that it is made of.
#include "../../../openvm-metal-backend/metal/field/baby_bear.h"
using namespace metal;

/// Words of a record.
typedef device const uint* Record;

/// Cells of a row: column c is cells[c * height].
struct Row {
    device Fp* cells;
    ulong height;
};

/// The columns of `row` from `first` on: rows of adapters and cores are parts of a chip's.
inline Row columns_from(Row row, uint first) { return Row{row.cells + ulong(first) * row.height, row.height}; }

inline void put(Row row, uint column, Fp value) { row.cells[ulong(column) * row.height] = value; }
/// Any 32-bit number, modulo the field's prime.
inline void put_number(Row row, uint column, uint value) { put(row, column, fp_from_u32(value)); }
inline void put_flag(Row row, uint column, bool flag) { put(row, column, Fp{flag ? FP_ONE : 0u}); }
inline void put_zeros(Row row, uint first, uint columns) {
    for (uint c = 0; c < columns; c++) put(row, first + c, Fp{0u});
}

/// Byte i of a word, the lowest first.
inline uint byte_of(uint word, uint i) { return (word >> (8u * i)) & 0xffu; }
/// The four bytes of a word in four columns, the lowest first.
inline void put_bytes(Row row, uint column, uint word) {
    for (uint i = 0; i < 4u; i++) put_number(row, column + i, byte_of(word, i));
}
