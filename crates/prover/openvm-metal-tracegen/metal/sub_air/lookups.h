#pragma once
// Requests to the lookup tables of OpenVM: variable range checker, bitwise operations, range tuples.
#include "../params.h"
using namespace metal;

/// Counts of the tables, and the sizes that requests depend on.
struct Lookups {
    device atomic_uint* counts;
    uint bitwise, tuple, end;  ///< offsets of the bitwise and the tuple table, and of the end of all
    uint tuple_size, range_bits, timestamp_bits, pointer_bits;
};

/// The tables that a launch counts in.
inline Lookups lookups(device atomic_uint* counts, constant ChipParams& p) {
    uint tuple = min(p.tuple, p.counts);
    return Lookups{counts, min(p.bitwise, tuple), tuple, p.counts, p.tuple_size, p.range_bits, p.timestamp_bits, p.pointer_bits};
}

/// Adds 1 to a count. A request outside of its table, which no record of an execution makes, is left out.
inline void count_at(Lookups t, uint index, uint end) {
    if (index < end) atomic_fetch_add_explicit(t.counts + index, 1u, memory_order_relaxed);
}

/// value < 2^bits.
inline void request_range(Lookups t, uint value, uint bits) {
    count_at(t, (1u << bits) + value - 1u, t.bitwise);
}
/// x and y are bytes.
inline void request_bytes(Lookups t, uint x, uint y) {
    count_at(t, t.bitwise + ((x & 0xffu) << 8) + (y & 0xffu), t.tuple);
}
/// x ^ y of bytes.
inline void request_xor(Lookups t, uint x, uint y) {
    count_at(t, t.bitwise + 0x10000u + ((x & 0xffu) << 8) + (y & 0xffu), t.tuple);
}
/// (x, y) is a tuple of the range tuple table.
inline void request_tuple(Lookups t, uint x, uint y) { count_at(t, t.tuple + x * t.tuple_size + y, t.end); }
