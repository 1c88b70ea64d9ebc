#pragma once
// Requests to the lookup tables of OpenVM: variable range checker, bitwise operations, range tuples.
#include "../params.h"
using namespace metal;

/// Counts of the tables, and the sizes that requests depend on.
struct Lookups {
    device atomic_uint* counts;
    ChipParams p;
};

/// Adds 1 to a count. A request outside of its table, which no record of an execution makes, is left out.
inline void count_at(Lookups t, uint index, uint end) {
    if (index < end) atomic_fetch_add_explicit(t.counts + index, 1u, memory_order_relaxed);
}

/// value < 2^bits.
inline void request_range(Lookups t, uint value, uint bits) {
    count_at(t, (1u << bits) + value - 1u, min(t.p.bitwise, t.p.counts));
}
/// x and y are bytes.
inline void request_bytes(Lookups t, uint x, uint y) {
    count_at(t, t.p.bitwise + ((x & 0xffu) << 8) + (y & 0xffu), min(t.p.tuple, t.p.counts));
}
/// x ^ y of bytes.
inline void request_xor(Lookups t, uint x, uint y) {
    count_at(t, t.p.bitwise + 0x10000u + ((x & 0xffu) << 8) + (y & 0xffu), min(t.p.tuple, t.p.counts));
}
/// (x, y) is a tuple of the range tuple table.
inline void request_tuple(Lookups t, uint x, uint y) { count_at(t, t.p.tuple + x * t.p.tuple_size + y, t.p.counts); }
