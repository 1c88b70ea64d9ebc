#pragma once
// Auxiliary columns of a memory access: the timestamp before it, and the proof that it is earlier.
#include "lookups.h"
#include "row.h"

/// Columns of an access: the timestamp before it, and now - before - 1 as two limbs.
constant constexpr uint ACCESS_COLUMNS = 3u;

/// OpenVM's MemoryBaseAuxCols, of an access at `now` to cells that were accessed at `before` < `now`.
inline void put_access(Row row, uint column, Lookups t, uint before, uint now) {
    uint bits = t.range_bits, gap = now - before - 1u;
    uint low = gap & ((1u << bits) - 1u), high = gap >> bits;
    put_number(row, column, before);
    put_number(row, column + 1u, low);
    put_number(row, column + 2u, high);
    request_range(t, low, bits);
    request_range(t, high, t.timestamp_bits - bits);
}
