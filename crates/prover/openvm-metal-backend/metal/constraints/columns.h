#pragma once
// Reading columns of traces: real ones, of this row or the next, and the selectors.
#include "../field/lane_ops.h"
#include "../field/run.h"
#include "../field/jobs.h"
#include "../field/sources.h"
#include "params.h"

constant constexpr uint CONSTRAINT_COLUMN = 0u;
constant constexpr uint CONSTRAINT_IS_FIRST = 1u;
constant constexpr uint CONSTRAINT_IS_TRANSITION = 2u;
constant constexpr uint CONSTRAINT_IS_LAST = 3u;

/// A column and how to read it.
struct ConstraintReader {
    device const Fp* cells;
    uint kind, next, shift, mask;
};

inline ConstraintReader constraint_reader(ConstraintColumn column, uint mask, uint first_source,
                                          device const Fp* source0, device const Fp* source1, device const Fp* source2, device const Fp* source3,
                                          device const Fp* source4, device const Fp* source5, device const Fp* source6, device const Fp* source7) {
    ConstraintReader r;
    r.cells = source_at((column.source & 255u) - first_source, source0, source1, source2, source3, source4, source5, source6, source7) + column.first;
    r.kind = (column.source >> 8) & 255u;
    r.next = (column.source >> 16) & 255u;
    r.shift = column.source >> 24;
    r.mask = mask;
    return r;
}

/// 1 where a == b, else 0.
template <typename U> inline FpT<U> fp_equal(U a, uint b) {
    U difference = a ^ (U)b;
    U any = (difference | ((U)0u - difference)) >> 31;  // 1 where they differ
    return FpT<U>{(any - 1u) & (U)FP_ONE};
}

/// The value in row `row` (any row: taken modulo the height).
inline FpL constraint_read(ConstraintReader r, uint_l row) {
    if (r.kind == CONSTRAINT_COLUMN) return lane_gather(r.cells, ((row + r.next) & r.mask) << r.shift);
    uint_l cyclic = row & r.mask;
    if (r.kind == CONSTRAINT_IS_FIRST) return fp_equal(cyclic, 0u);
    FpL last = fp_equal(cyclic, r.mask);
    return r.kind == CONSTRAINT_IS_LAST ? last : fp_one<uint_l>() - last;
}
/// As above for rows first + k * step, all below the height and, if `next`, followed by one.
inline FpL constraint_read_inside(ConstraintReader r, index_l row) {
#if LANE_WIDTH > 1
    if (r.kind == CONSTRAINT_COLUMN) return lane_load(r.cells, (row + ulong(r.next)) << r.shift);
#endif
    return constraint_read(r, to_vec(row));
}
#if LANE_WIDTH > 1
/// Whether runs of N rows that begin at a multiple of N lie side by side in memory.
template <uint N> inline bool constraint_has_runs(ConstraintReader r) {
    return r.kind == CONSTRAINT_COLUMN && r.shift == 0u && r.mask >= N - 1u;
}
/// N rows of each lane from its `row` on, which is a multiple of N below the height. A vector load for each lane and one transposition;
/// row by row, each lane would be a load of its own. `r.next` is ignored.
template <uint N> inline FpRunT<uint_l, N> constraint_read_run(ConstraintReader r, uint_l row) {
    return lane_gather((device const FpRunT<uint, N>*)r.cells, row / N);
}
#endif
