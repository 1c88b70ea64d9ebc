// Traces of OpenVM's lookup tables from the counts of a segment, one thread a row. The host's chips count too: their counts
// are added.
#include "../sub_air/row.h"
#include "../params.h"

/// Both counts of a row, in the field. A count wraps at 2^32 as the host's do.
inline void put_count(Row row, uint column, device const uint* counts, device const uint* on_host, uint i) {
    put_number(row, column, counts[i] + on_host[i]);
}

/// Variable range checker: row i is the value i + 1 - 2^b of b bits, 2^b <= i + 1 < 2^(b+1). Columns: value, b, 2^b, count.
/// Cost: 4 products, 24 bytes per thread.
/// Lengths: counts p.counts, on_host p.height, trace p.height * 4.
/// Requires: p.height <= threads, p.offset <= p.counts, p.height <= p.counts - p.offset.
kernel void table_range(device const uint* counts [[buffer(0)]], device const uint* on_host [[buffer(1)]],
                        device Fp* trace [[buffer(2)]], constant TableParams& p [[buffer(3)]],
                        uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    uint bits = 31u - clz(i + 1u), size = 1u << bits;
    put_number(row, 0u, i + 1u - size);
    put_number(row, 1u, bits);
    put_number(row, 2u, size);
    put_count(row, 3u, counts + p.offset, on_host, i);
}

/// Bitwise operations on bytes: row i is x = i / 2^8 and y = i mod 2^8. Columns: 8 bits of x, 8 bits of y from the lowest, counts of
/// range checks and of operations; counts and on_host have p.height range checks, then p.height operations.
/// Cost: 2 products, 88 bytes per thread.
/// Lengths: counts p.counts, on_host p.height * 2, trace p.height * 18.
/// Requires: p.height <= threads, p.offset <= p.counts, p.height * 2 <= p.counts - p.offset.
kernel void table_bitwise(device const uint* counts [[buffer(0)]], device const uint* on_host [[buffer(1)]],
                          device Fp* trace [[buffer(2)]], constant TableParams& p [[buffer(3)]],
                          uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    for (uint k = 0; k < 8u; k++) put_flag(row, k, ((i >> (8u + k)) & 1u) != 0u);
    for (uint k = 0; k < 8u; k++) put_flag(row, 8u + k, ((i >> k) & 1u) != 0u);
    put_count(row, 16u, counts + p.offset, on_host, i);
    put_count(row, 17u, counts + p.offset + p.height, on_host + p.height, i);
}

/// Range tuples of two numbers: row i is (i / p.shape, i mod p.shape). Columns: both numbers, count.
/// Cost: 3 products, 20 bytes per thread.
/// Lengths: counts p.counts, on_host p.height, trace p.height * 3.
/// Requires: p.height <= threads, p.shape >= 1, p.offset <= p.counts, p.height <= p.counts - p.offset.
kernel void table_tuple(device const uint* counts [[buffer(0)]], device const uint* on_host [[buffer(1)]],
                        device Fp* trace [[buffer(2)]], constant TableParams& p [[buffer(3)]],
                        uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Row row = Row{trace + i, p.height};
    uint first = i / p.shape;
    put_number(row, 0u, first);
    put_number(row, 1u, i - first * p.shape);
    put_count(row, 2u, counts + p.offset, on_host, i);
}
