#include "params.h"

// Elements of a tile; 16 KiB of threadgroup memory.
constant constexpr uint SCAN_TILE = 1024u;

/// Inclusive prefix sums within tiles of 1024 elements, in place, and the total of each tile.
/// Per element two additions, per tile 2 + log2(tpg) barriers.
/// Cost: 0 products, 32 * min(p.len, 1024) + 16 bytes per threadgroup.
/// Lengths: values p.len, totals groups.
/// Requires: groups <= ceil_div(p.len, 1024).
[[max_total_threads_per_threadgroup(256)]]
kernel void poly_scan_tiles(device FpExt* values [[buffer(0)]],
                            device FpExt* totals [[buffer(1)]],
                            constant PolyScanParams& p [[buffer(2)]],
                            uint tid [[thread_index_in_threadgroup]],
                            uint tpg [[threads_per_threadgroup]],
                            uint group [[threadgroup_position_in_grid]]) {
    threadgroup FpExt tile[1024];
    threadgroup FpExt sums[256];
    ulong begin = ulong(group) * SCAN_TILE;
    uint count = uint(min(ulong(SCAN_TILE), p.len - begin));
    for (uint i = tid; i < count; i += tpg) tile[i] = values[begin + i];
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // Each thread scans a run of its own, then the run totals are scanned by doubling distances.
    uint run = (SCAN_TILE + tpg - 1u) / tpg;
    uint first = min(tid * run, count), last = min(first + run, count);
    FpExt acc = fpext_zero<uint>();
    for (uint i = first; i < last; i++) {
        acc = acc + tile[i];
        tile[i] = acc;
    }
    sums[tid] = acc;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint distance = 1; distance < tpg; distance <<= 1) {
        FpExt add = fpext_zero<uint>();
        if (tid >= distance) add = sums[tid - distance];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sums[tid] = sums[tid] + add;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    FpExt before = fpext_zero<uint>();
    if (tid > 0u) before = sums[tid - 1u];
    for (uint i = first; i < last; i++) tile[i] = tile[i] + before;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = tid; i < count; i += tpg) values[begin + i] = tile[i];
    if (tid == 0u) totals[group] = sums[tpg - 1u];
}

/// Adds the inclusive prefix of the tile totals before each element's tile.
/// One addition per thread.
/// Cost: 0 products, 48 bytes per thread.
/// Lengths: values threads + 1024, totals ceil_div(threads, 1024).
kernel void poly_scan_add(device FpExt* values [[buffer(0)]],
                          device const FpExt* totals [[buffer(1)]],
                          constant uint& threads [[buffer(2)]],
                          uint gid [[thread_position_in_grid]]) {
    if (gid >= threads) return;
    ulong i = ulong(gid) + SCAN_TILE;
    values[i] = values[i] + totals[gid / SCAN_TILE];
}
