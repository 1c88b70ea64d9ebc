// Sorts of the rows of a matrix: tiles first, then runs of tiles, two at a time. The order of elements, their indices in the row,
// goes with them where it is asked for.
#include "sort.h"
#include "params.h"

/// Each tile of 1,024 elements of a row in order: every element is read and written once.
/// Cost: 64 * min(p.cols, 1024) products, 2 * sizeof(W) * min(p.cols, 1024) bytes per threadgroup.
/// Lengths: src, dst ceil_div(p.first + groups, ceil_div(p.cols, 1024)) * p.cols.
/// InPlace: src, dst.
/// Requires: p.cols >= 1, p.cols < 1 << 31.
template <typename W>
[[max_total_threads_per_threadgroup(256)]]
kernel void sort_tiles(device const W* src [[buffer(0)]], device W* dst [[buffer(1)]], constant SortParams& p [[buffer(2)]],
                       uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]],
                       uint group [[threadgroup_position_in_grid]]) {
    threadgroup W values[2 * SORT_TILE];
    threadgroup uint none[1];
    const SortPlace at = sort_place(p.first + group, p.cols);
    for (uint i = tid; i < at.len; i += tpg) values[i] = src[at.row + at.tile + i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sort_tile<W, false>(values, none, at.len, p.kind, p.flip, tid, tpg);
    for (uint i = tid; i < at.len; i += tpg) dst[at.row + at.tile + i] = values[i];
}
#define SORT_TILES(name, W) \
    template [[host_name(name)]] kernel void sort_tiles<W>(device const W*, device W*, constant SortParams&, uint, uint, uint);
SORT_TILES("sort_tiles_32", uint)
SORT_TILES("sort_tiles_64", ulong)

/// The same with the indices in the row of the elements as they are written.
/// Cost: 64 * min(p.cols, 1024) products, (2 * sizeof(W) + 4) * min(p.cols, 1024) bytes per threadgroup.
/// Lengths: src, dst, order ceil_div(p.first + groups, ceil_div(p.cols, 1024)) * p.cols.
/// Requires: p.cols >= 1, p.cols < 1 << 31.
template <typename W>
[[max_total_threads_per_threadgroup(256)]]
kernel void order_tiles(device const W* src [[buffer(0)]], device W* dst [[buffer(1)]], device uint* order [[buffer(2)]],
                        constant SortParams& p [[buffer(3)]], uint tid [[thread_index_in_threadgroup]],
                        uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup W values[2 * SORT_TILE];
    threadgroup uint places[2 * SORT_TILE];
    const SortPlace at = sort_place(p.first + group, p.cols);
    for (uint i = tid; i < at.len; i += tpg) {
        values[i] = src[at.row + at.tile + i];
        places[i] = at.tile + i;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sort_tile<W, true>(values, places, at.len, p.kind, p.flip, tid, tpg);
    for (uint i = tid; i < at.len; i += tpg) {
        dst[at.row + at.tile + i] = values[i];
        order[at.row + at.tile + i] = places[i];
    }
}
#define ORDER_TILES(name, W) \
    template [[host_name(name)]] kernel void order_tiles<W>(device const W*, device W*, device uint*, constant SortParams&, uint, uint, uint);
ORDER_TILES("order_tiles_32", uint)
ORDER_TILES("order_tiles_64", ulong)

/// Neighbouring runs of p.run tiles, which are in order, merged: every element is read and written once.
/// Cost: 16 * min(p.cols, 1024) products, 2 * sizeof(W) * min(p.cols, 1024) bytes per threadgroup.
/// Lengths: src, dst ceil_div(p.first + groups, ceil_div(p.cols, 1024)) * p.cols.
/// Requires: p.cols >= 1, p.cols < 1 << 31.
template <typename W>
[[max_total_threads_per_threadgroup(256)]]
kernel void merge_tiles(device const W* src [[buffer(0)]], device W* dst [[buffer(1)]], constant SortParams& p [[buffer(2)]],
                        uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]],
                        uint group [[threadgroup_position_in_grid]]) {
    threadgroup W values[2 * SORT_TILE];
    threadgroup uint none[1];
    threadgroup uint splits[2];
    const SortPlace at = sort_place(p.first + group, p.cols);
    const SortRuns runs = sort_runs(at.tile, p.cols, p.run);
    const ulong start = at.row + runs.base;
    for (uint s = tid; s < 2; s += tpg)
        splits[s] = sort_split(src + start, runs.na, runs.nb, runs.diagonal + s * at.len, p.kind, p.flip);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    // Of runs that are not in order the splits may be anywhere.
    const uint i = splits[0], na = min(max(splits[1], i) - i, at.len), j = runs.na + (runs.diagonal - i);
    for (uint k = tid; k < at.len; k += tpg) values[k] = src[start + (k < na ? i + k : j + (k - na))];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint t = tid * SORT_EACH; t < at.len; t += tpg * SORT_EACH)
        merge_some<W, false>(values, none, na, at.len - na, t, min(SORT_EACH, at.len - t), values + SORT_TILE + t, none, p.kind, p.flip);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = tid; k < at.len; k += tpg) dst[at.row + at.tile + k] = values[SORT_TILE + k];
}
#define MERGE_TILES(name, W) \
    template [[host_name(name)]] kernel void merge_tiles<W>(device const W*, device W*, constant SortParams&, uint, uint, uint);
MERGE_TILES("merge_tiles_32", uint)
MERGE_TILES("merge_tiles_64", ulong)

/// The same with the indices of the elements.
/// Cost: 16 * min(p.cols, 1024) products, (2 * sizeof(W) + 8) * min(p.cols, 1024) bytes per threadgroup.
/// Lengths: src, order, dst, dst_order ceil_div(p.first + groups, ceil_div(p.cols, 1024)) * p.cols.
/// Requires: p.cols >= 1, p.cols < 1 << 31.
template <typename W>
[[max_total_threads_per_threadgroup(256)]]
kernel void merge_orders(device const W* src [[buffer(0)]], device const uint* order [[buffer(1)]], device W* dst [[buffer(2)]],
                         device uint* dst_order [[buffer(3)]], constant SortParams& p [[buffer(4)]],
                         uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]],
                         uint group [[threadgroup_position_in_grid]]) {
    threadgroup W values[2 * SORT_TILE];
    threadgroup uint places[2 * SORT_TILE];
    threadgroup uint splits[2];
    const SortPlace at = sort_place(p.first + group, p.cols);
    const SortRuns runs = sort_runs(at.tile, p.cols, p.run);
    const ulong start = at.row + runs.base;
    for (uint s = tid; s < 2; s += tpg)
        splits[s] = sort_split(src + start, runs.na, runs.nb, runs.diagonal + s * at.len, p.kind, p.flip);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint i = splits[0], na = min(max(splits[1], i) - i, at.len), j = runs.na + (runs.diagonal - i);
    for (uint k = tid; k < at.len; k += tpg) {
        const ulong from = start + (k < na ? i + k : j + (k - na));
        values[k] = src[from];
        places[k] = order[from];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint t = tid * SORT_EACH; t < at.len; t += tpg * SORT_EACH)
        merge_some<W, true>(values, places, na, at.len - na, t, min(SORT_EACH, at.len - t), values + SORT_TILE + t, places + SORT_TILE + t,
                            p.kind, p.flip);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = tid; k < at.len; k += tpg) {
        dst[at.row + at.tile + k] = values[SORT_TILE + k];
        dst_order[at.row + at.tile + k] = places[SORT_TILE + k];
    }
}
#define MERGE_ORDERS(name, W) \
    template [[host_name(name)]] kernel void merge_orders<W>(device const W*, device const uint*, device W*, device uint*, \
                                                             constant SortParams&, uint, uint, uint);
MERGE_ORDERS("merge_orders_32", uint)
MERGE_ORDERS("merge_orders_64", ulong)

/// Indices as words of 64 bits: one per thread.
/// Cost: 12 bytes per thread.
/// Lengths: order, dst min(p.count, p.first + threads).
/// Requires: p.first <= p.count.
kernel void widen_order(device const uint* order [[buffer(0)]], device ulong* dst [[buffer(1)]], constant WidenParams& p [[buffer(2)]],
                        uint gid [[thread_position_in_grid]]) {
    if (gid >= p.count - p.first) return;
    dst[p.first + gid] = order[p.first + gid];
}
