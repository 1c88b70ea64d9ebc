// Traces of the chips of Keccak, one thread a row.
#include "keccakf.h"
#include "xorin.h"

/// Rows of the chip xorin: reads records[215 i .. 215 (i + 1)], writes trace[c p.height + i] for all 914 columns c.
/// Cost: 879 products, 5908 bytes per thread.
/// Lengths: records p.rows * 215, trace p.height * 914, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_xorin(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                        device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                        uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, XORIN_COLUMNS);
        return;
    }
    xorin(row, records + ulong(i) * XORIN_WORDS, lookups(counts, p));
}

/// Rows of the chip keccakf_op: reads records[105 i .. 105 (i + 1)], writes trace[c p.height + i] for all 561 columns c.
/// Cost: 560 products, 3476 bytes per thread.
/// Lengths: records p.rows * 105, trace p.height * 561, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_keccakf_op(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                             device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                             uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, KECCAKF_OP_COLUMNS);
        return;
    }
    keccakf_op(row, records + ulong(i) * KECCAKF_WORDS, lookups(counts, p));
}

/// Rows of the chip keccakf_perm, 24 for each record of keccakf_op: row 24 k + r is round r of permutation k, which reads
/// records[105 k .. 105 (k + 1)]; the permutations after p.rows are of zeros. Writes trace[c p.height + i] for all 2634 columns c.
/// Cost: 305 products, 10740 bytes per thread.
/// Lengths: records p.rows * 105, trace p.height * 2634.
/// Requires: p.height <= threads, p.rows * 24 <= p.height.
kernel void trace_keccakf_perm(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                               constant ChipParams& p [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    uint permutation = i / KECCAK_ROUNDS;
    ulong a[KECCAK_LANES] = {};
    bool is_used = permutation < p.rows;
    uint timestamp = 0u;
    if (is_used) {
        device const uint* record = records + ulong(permutation) * KECCAKF_WORDS;
        keccakf_state(record, a);
        timestamp = record[1];
    }
    keccakf_perm(Row{trace + i, p.height}, a, i - permutation * KECCAK_ROUNDS, is_used, timestamp);
}
