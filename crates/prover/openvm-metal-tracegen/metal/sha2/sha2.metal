// Traces of the chips of SHA-2, one thread a row.
#include "hasher.h"
#include "record.h"

/// Rows of the main chip of SHA-256: reads records[84 i .. 84 (i + 1)], writes trace[c p.height + i] for all 284 columns c.
/// Cost: 283 products, 1760 bytes per thread.
/// Lengths: records p.rows * 84, trace p.height * 284, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_sha256(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                         device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                         uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, sha2_main_columns<uint>());
        return;
    }
    sha2_main<uint>(row, records + ulong(i) * sha2_record_words<uint>(), lookups(counts, p), i);
}

/// Rows of the main chip of SHA-512: reads records[156 i .. 156 (i + 1)], writes trace[c p.height + i] for all 540 columns c.
/// Cost: 539 products, 3328 bytes per thread.
/// Lengths: records p.rows * 156, trace p.height * 540, counts p.counts.
/// Requires: p.height <= threads, p.rows <= p.height, p.range_bits <= 29, p.timestamp_bits <= 31, p.pointer_bits <= 32, p.range_bits <= p.timestamp_bits, 16 <= p.pointer_bits.
kernel void trace_sha512(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                         device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                         uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    if (i >= p.rows) {
        put_zeros(row, 0u, sha2_main_columns<ulong>());
        return;
    }
    sha2_main<ulong>(row, records + ulong(i) * sha2_record_words<ulong>(), lookups(counts, p), i);
}

/// Rows of the block hasher of SHA-256, 17 for each record of the main chip: row 17 k + r is row r of block k, which is made of the 24 words of
/// message and state in records[84 k .. 84 (k + 1)] with all rounds up to its own. The row of a digest has the state before the next block,
/// the last round's row and the row after a digest the digest; padding, the rows after p.rows blocks, has the state before the first. Writes
/// trace[c p.height + i] for all 456 columns c. A row of rounds:
/// Cost: 53 products, 1952 bytes per thread.
/// Lengths: records p.rows * 84, trace p.height * 456, counts p.counts.
/// Requires: p.height <= threads, 1 <= p.rows, p.rows * 17 <= p.height.
kernel void trace_sha256_hasher(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                                device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                                uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    sha2_hasher<uint>(Row{trace + i, p.height}, records, lookups(counts, p), p.rows, i);
}

/// Rows of the block hasher of SHA-512, 21 for each record of the main chip: as those of SHA-256, of the 48 words of message and state in
/// records[156 k .. 156 (k + 1)]. Writes trace[c p.height + i] for all 903 columns c. A row of rounds:
/// Cost: 100 products, 3868 bytes per thread.
/// Lengths: records p.rows * 156, trace p.height * 903, counts p.counts.
/// Requires: p.height <= threads, 1 <= p.rows, p.rows * 21 <= p.height.
kernel void trace_sha512_hasher(device const uint* records [[buffer(0)]], device Fp* trace [[buffer(1)]],
                                device atomic_uint* counts [[buffer(2)]], constant ChipParams& p [[buffer(3)]],
                                uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    sha2_hasher<ulong>(Row{trace + i, p.height}, records, lookups(counts, p), p.rows, i);
}
