// Traces of the chips of rv32im, one thread a row: it reads a record, writes all columns of its row, and adds what the row
// looks up to the counts. Rows after the records are zero. What a chip's columns mean is in its header.
#include "alu.h"
#include "branch.h"
#include "hintstore.h"
#include "jump.h"
#include "loadstore.h"
#include "mul.h"

/// Rows of the chip base_alu: reads records[13 i .. 13 (i + 1)], writes trace[c p.height + i] for all 36 columns c.
/// Cost: 36 products, 244 bytes per thread.
/// Lengths: records p.rows * 13, trace p.height * 36, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_base_alu(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                           device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                           uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, BASE_ALU_COLUMNS);
        return;
    }
    base_alu(row, records + ulong(i) * BASE_ALU_WORDS, lookups(counts, p));
}

/// Rows of the chip less_than: reads records[13 i .. 13 (i + 1)], writes trace[c p.height + i] for all 37 columns c.
/// Cost: 37 products, 248 bytes per thread.
/// Lengths: records p.rows * 13, trace p.height * 37, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_less_than(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                            device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                            uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, LESS_THAN_COLUMNS);
        return;
    }
    less_than(row, records + ulong(i) * LESS_THAN_WORDS, lookups(counts, p));
}

/// Rows of the chip shift: reads records[13 i .. 13 (i + 1)], writes trace[c p.height + i] for all 53 columns c.
/// Cost: 53 products, 312 bytes per thread.
/// Lengths: records p.rows * 13, trace p.height * 53, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_shift(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                        device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                        uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, SHIFT_COLUMNS);
        return;
    }
    shift(row, records + ulong(i) * SHIFT_WORDS, lookups(counts, p));
}

/// Rows of the chip branch_eq: reads records[10 i .. 10 (i + 1)], writes trace[c p.height + i] for all 26 columns c.
/// Cost: 180 products, 192 bytes per thread.
/// Lengths: records p.rows * 10, trace p.height * 26, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_branch_eq(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                            device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                            uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, BRANCH_EQ_COLUMNS);
        return;
    }
    branch_eq(row, records + ulong(i) * BRANCH_EQ_WORDS, lookups(counts, p));
}

/// Rows of the chip branch_lt: reads records[10 i .. 10 (i + 1)], writes trace[c p.height + i] for all 32 columns c.
/// Cost: 32 products, 216 bytes per thread.
/// Lengths: records p.rows * 10, trace p.height * 32, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_branch_lt(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                            device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                            uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, BRANCH_LT_COLUMNS);
        return;
    }
    branch_lt(row, records + ulong(i) * BRANCH_LT_WORDS, lookups(counts, p));
}

/// Rows of the chip jal_lui: reads records[8 i .. 8 (i + 1)], writes trace[c p.height + i] for all 18 columns c.
/// Cost: 18 products, 152 bytes per thread.
/// Lengths: records p.rows * 8, trace p.height * 18, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_jal_lui(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                          device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                          uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, JAL_LUI_COLUMNS);
        return;
    }
    jal_lui(row, records + ulong(i) * JAL_LUI_WORDS, lookups(counts, p));
}

/// Rows of the chip jalr: reads records[11 i .. 11 (i + 1)], writes trace[c p.height + i] for all 28 columns c.
/// Cost: 28 products, 204 bytes per thread.
/// Lengths: records p.rows * 11, trace p.height * 28, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_jalr(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                       device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                       uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, JALR_COLUMNS);
        return;
    }
    jalr(row, records + ulong(i) * JALR_WORDS, lookups(counts, p));
}

/// Rows of the chip auipc: reads records[7 i .. 7 (i + 1)], writes trace[c p.height + i] for all 20 columns c.
/// Cost: 20 products, 156 bytes per thread.
/// Lengths: records p.rows * 7, trace p.height * 20, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_auipc(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                        device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                        uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, AUIPC_COLUMNS);
        return;
    }
    auipc(row, records + ulong(i) * AUIPC_WORDS, lookups(counts, p));
}

/// Rows of the chip loadstore: reads records[15 i .. 15 (i + 1)], writes trace[c p.height + i] for all 41 columns c.
/// Cost: 41 products, 272 bytes per thread.
/// Lengths: records p.rows * 15, trace p.height * 41, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_loadstore(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                            device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                            uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, LOADSTORE_COLUMNS);
        return;
    }
    loadstore(row, records + ulong(i) * LOADSTORE_WORDS, lookups(counts, p));
}

/// Rows of the chip load_sign_extend: reads records[12 i .. 12 (i + 1)], writes trace[c p.height + i] for all 36 columns c.
/// Cost: 36 products, 240 bytes per thread.
/// Lengths: records p.rows * 12, trace p.height * 36, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_load_sign_extend(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                                   device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                                   uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, LOAD_SIGN_EXTEND_COLUMNS);
        return;
    }
    load_sign_extend(row, records + ulong(i) * LOAD_SIGN_EXTEND_WORDS, lookups(counts, p));
}

/// Rows of the chip mul: reads records[11 i .. 11 (i + 1)], writes trace[c p.height + i] for all 31 columns c.
/// Cost: 31 products, 216 bytes per thread.
/// Lengths: records p.rows * 11, trace p.height * 31, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_mul(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                      device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                      uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, MUL_COLUMNS);
        return;
    }
    mul(row, records + ulong(i) * MUL_WORDS, lookups(counts, p));
}

/// Rows of the chip mulh: reads records[12 i .. 12 (i + 1)], writes trace[c p.height + i] for all 39 columns c.
/// Cost: 39 products, 252 bytes per thread.
/// Lengths: records p.rows * 12, trace p.height * 39, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_mulh(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                       device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                       uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, MULH_COLUMNS);
        return;
    }
    mulh(row, records + ulong(i) * MULH_WORDS, lookups(counts, p));
}

/// Rows of the chip divrem: reads records[12 i .. 12 (i + 1)], writes trace[c p.height + i] for all 59 columns c.
/// Cost: 300 products, 332 bytes per thread.
/// Lengths: records p.rows * 12, trace p.height * 59, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_divrem(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                         device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                         uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, DIVREM_COLUMNS);
        return;
    }
    divrem(row, records + ulong(i) * DIVREM_WORDS, lookups(counts, p));
}

/// Rows of the chip hint_store: reads records[12 i .. 12 (i + 1)], writes trace[c p.height + i] for all 32 columns c.
/// Cost: 29 products, 212 bytes per thread.
/// Lengths: records p.rows * 12, trace p.height * 32, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_hint_store(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                             device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                             uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, HINT_STORE_COLUMNS);
        return;
    }
    hint_store(row, records + ulong(i) * HINT_STORE_WORDS, lookups(counts, p));
}
