// Traces of the chips of 256-bit integers, one thread a row. Rows after the records are zero.
#include "bigint.h"

/// Rows of the chip base_alu_256: reads records[60 i .. 60 (i + 1)], writes trace[c p.height + i] for all 231 columns c.
/// Cost: 226 products, 1516 bytes per thread.
/// Lengths: records p.rows * 60, trace p.height * 231, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_base_alu_256(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                               device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                               uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, BASE_ALU_256_COLUMNS);
        return;
    }
    base_alu_256(row, records + ulong(i) * BASE_ALU_256_WORDS, lookups(counts, p));
}

/// Rows of the chip less_than_256: reads records[60 i .. 60 (i + 1)], writes trace[c p.height + i] for all 232 columns c.
/// Cost: 197 products, 1400 bytes per thread.
/// Lengths: records p.rows * 60, trace p.height * 232, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_less_than_256(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                                device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                                uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, LESS_THAN_256_COLUMNS);
        return;
    }
    less_than_256(row, records + ulong(i) * LESS_THAN_256_WORDS, lookups(counts, p));
}

/// Rows of the chip shift_256: reads records[60 i .. 60 (i + 1)], writes trace[c p.height + i] for all 304 columns c.
/// Cost: 260 products, 1880 bytes per thread.
/// Lengths: records p.rows * 60, trace p.height * 304, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_shift_256(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                            device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                            uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, SHIFT_256_COLUMNS);
        return;
    }
    shift_256(row, records + ulong(i) * SHIFT_256_WORDS, lookups(counts, p));
}

/// Rows of the chip mul_256: reads records[59 i .. 59 (i + 1)], writes trace[c p.height + i] for all 227 columns c.
/// Cost: 754 products, 1496 bytes per thread.
/// Lengths: records p.rows * 59, trace p.height * 227, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_mul_256(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                          device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                          uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, MUL_256_COLUMNS);
        return;
    }
    mul_256(row, records + ulong(i) * MUL_256_WORDS, lookups(counts, p));
}

/// Rows of the chip branch_eq_256: reads records[42 i .. 42 (i + 1)], writes trace[c p.height + i] for all 166 columns c.
/// Cost: 289 products, 980 bytes per thread.
/// Lengths: records p.rows * 42, trace p.height * 166, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_branch_eq_256(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                                device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                                uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, BRANCH_EQ_256_COLUMNS);
        return;
    }
    branch_eq_256(row, records + ulong(i) * BRANCH_EQ_256_WORDS, lookups(counts, p));
}

/// Rows of the chip branch_lt_256: reads records[42 i .. 42 (i + 1)], writes trace[c p.height + i] for all 172 columns c.
/// Cost: 134 products, 1012 bytes per thread.
/// Lengths: records p.rows * 42, trace p.height * 172, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_branch_lt_256(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                                device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                                uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, BRANCH_LT_256_COLUMNS);
        return;
    }
    branch_lt_256(row, records + ulong(i) * BRANCH_LT_256_WORDS, lookups(counts, p));
}
