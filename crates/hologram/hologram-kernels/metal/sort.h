#pragma once
// Stable sorts by merging. Elements are words of 32 or 64 bits, compared by keys; a tile is merged in threadgroup memory, and two
// sorted runs tile by tile. Right for any number of threads: those of `SORT_TILE / SORT_EACH` are shared among the ones there are.
#include "elements.h"

// Elements of a tile, and those that a thread gives at a time.
#define SORT_TILE 1024u
#define SORT_EACH 4u

// A word as a number in the order of elements. Kind 0: unsigned, 1: signed, 2: float, with both zeros equal and NaN behind all.
// `flip` has all bits for the other direction.
inline uint sort_key(uint b, uint kind, uint flip) {
    uint key = b;
    if (kind == 1) key = b ^ 0x80000000u;
    if (kind == 2) {
        const uint m = b & 0x7fffffffu;
        key = m > 0x7f800000u ? ~0u : m == 0 ? 0x80000000u : (b >> 31) != 0 ? ~b : b | 0x80000000u;
    }
    return key ^ flip;
}
inline ulong sort_key(ulong b, uint kind, uint flip) {
    ulong key = b;
    if (kind == 1) key = b ^ 0x8000000000000000ul;
    if (kind == 2) {
        const ulong m = b & 0x7ffffffffffffffful;
        key = m > 0x7ff0000000000000ul ? ~0ul : m == 0 ? 0x8000000000000000ul : (b >> 63) != 0 ? ~b : b | 0x8000000000000000ul;
    }
    return flip != 0 ? ~key : key;
}

// Whether `b`, which stands behind `a`, has to come before it.
template <typename W> inline bool sort_before(W b, W a, uint kind, uint flip) { return sort_key(b, kind, flip) < sort_key(a, kind, flip); }

// Elements `diagonal` to `diagonal + count` of the merge of the `na` first elements of `from` with the `nb` behind them.
template <typename W, bool ORDERED>
inline void merge_some(threadgroup const W* from, threadgroup const uint* order, uint na, uint nb, uint diagonal, uint count,
                       threadgroup W* to, threadgroup uint* to_order, uint kind, uint flip) {
    uint low = diagonal > nb ? diagonal - nb : 0u, high = min(diagonal, na);
    while (low < high) {
        const uint middle = (low + high) / 2;
        if (sort_before(from[na + diagonal - 1 - middle], from[middle], kind, flip)) high = middle;
        else low = middle + 1;
    }
    uint i = low, j = diagonal - low;
    for (uint e = 0; e < count; e++) {
        bool first = j >= nb;
        if (!first && i < na) first = !sort_before(from[na + j], from[i], kind, flip);
        const uint at = first ? i : na + j;
        to[e] = from[at];
        if (ORDERED) to_order[e] = order[at];
        if (first) i += 1;
        else j += 1;
    }
}

// Sorts the `len` first of the SORT_TILE elements of `values`, behind which as many have room.
template <typename W, bool ORDERED>
inline void sort_tile(threadgroup W* values, threadgroup uint* order, uint len, uint kind, uint flip, uint tid, uint tpg) {
    for (uint t = tid * SORT_EACH; t < len; t += tpg * SORT_EACH) {
        const uint end = min(t + SORT_EACH, len);
        for (uint i = t + 1; i < end; i++) {
            const W value = values[i];
            const uint place = ORDERED ? order[i] : 0u;
            uint j = i;
            while (j > t && sort_before(value, values[j - 1], kind, flip)) {
                values[j] = values[j - 1];
                if (ORDERED) order[j] = order[j - 1];
                j -= 1;
            }
            values[j] = value;
            if (ORDERED) order[j] = place;
        }
    }
    // Eight rounds: the last one writes where the first one read.
    uint from = 0;
    for (uint run = SORT_EACH; run < SORT_TILE; run *= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const uint to = SORT_TILE - from, from_order = ORDERED ? from : 0u, to_order = ORDERED ? to : 0u;
        for (uint t = tid * SORT_EACH; t < len; t += tpg * SORT_EACH) {
            const uint base = t / (2 * run) * (2 * run), na = min(run, len - base), nb = min(2 * run, len - base) - na;
            merge_some<W, ORDERED>(values + from + base, order + from_order + (ORDERED ? base : 0u), na, nb, t - base, min(SORT_EACH, len - t),
                                   values + to + t, order + to_order + (ORDERED ? t : 0u), kind, flip);
        }
        from = to;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

// Where a threadgroup works: first element of its row, first element of its tile in the row, elements of the tile.
struct SortPlace {
    ulong row;
    uint tile, len;
};
inline SortPlace sort_place(ulong group, uint cols) {
    const ulong tiles = (ulong(cols) + SORT_TILE - 1) / SORT_TILE;
    SortPlace place;
    place.row = group / tiles * cols;
    place.tile = uint(group % tiles) * SORT_TILE;
    place.len = min(SORT_TILE, cols - place.tile);
    return place;
}

// Two neighbouring sorted runs of a row, and which part of their merge a tile is.
struct SortRuns {
    uint base, na, nb, diagonal;
};
inline SortRuns sort_runs(uint tile, uint cols, uint run) {
    const ulong length = ulong(run) * SORT_TILE, base = length == 0 ? tile : tile / (2 * length) * (2 * length), rest = cols - base;
    SortRuns runs;
    runs.base = uint(base);
    runs.na = uint(min(length, rest));
    runs.nb = uint(min(2 * length, rest)) - runs.na;
    runs.diagonal = tile - runs.base;
    return runs;
}

// How many of the first `diagonal` elements of the merge of `na` elements and the `nb` behind them are of the first.
template <typename W>
inline uint sort_split(device const W* from, uint na, uint nb, uint diagonal, uint kind, uint flip) {
    uint low = diagonal > nb ? diagonal - nb : 0u, high = min(diagonal, na);
    while (low < high) {
        const uint middle = low + (high - low) / 2;
        if (sort_before(from[ulong(na) + (diagonal - 1 - middle)], from[middle], kind, flip)) high = middle;
        else low = middle + 1;
    }
    return low;
}
