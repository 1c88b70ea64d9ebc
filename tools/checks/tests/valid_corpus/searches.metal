#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
// Loops that draw work, push to a list and shrink memory of their own.
constant float LOWEST = -INFINITY;
struct Span {
    device uint* data;
    uint top() const { return data[0]; }
    void halve() const { data[0] = data[0] / 2u; }
};
static void shrink(device uint* data, uint at) { data[at] -= 1u; }
static bool sorted(device uint* data) {
    bool moved = false;
    for (uint i = 1u; i < 8u; i++) {
        if (data[i - 1u] > data[i]) {
            uint larger = data[i - 1u];
            data[i - 1u] = data[i];
            data[i] = larger;
            moved = true;
        }
    }
    return moved;
}
[[max_total_threads_per_threadgroup(256)]]
kernel void searches(device atomic_uint* cells [[buffer(0)]], device uint* data [[buffer(1)]], constant uint& n [[buffer(2)]], uint gid [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]], uint tpg [[threads_per_threadgroup]]) {
    while (true) {
        uint first = 0u;
        if (lane == 0u) first = atomic_fetch_add_explicit(cells, 32u, memory_order_relaxed);
        uint item = simd_broadcast_first(first) + lane;
        if (simd_all(item >= n)) break;
        if (item < n) data[item] += tpg;
    }
    // The list keeps the old head.
    uint head = atomic_load_explicit(cells + 1, memory_order_relaxed);
    do {
        data[gid] = head;
    } while (!atomic_compare_exchange_weak_explicit(cells + 1, &head, gid, memory_order_relaxed, memory_order_relaxed));
    // A cell that is free is taken once.
    bool mine = false;
    uint empty = 0u;
    while (!mine && empty == 0u) mine = atomic_compare_exchange_weak_explicit(cells + 2, &empty, gid + 1u, memory_order_relaxed, memory_order_relaxed);
    while (data[gid] > 10u) shrink(data, gid);
    while (sorted(data + 8u * gid)) {}
    Span span;
    span.data = data + gid;
    while (span.top() > 10u) span.halve();
    do {
        if (data[gid] == 3u) break;
        data[gid] = mine ? 1u : 2u;
    } while (false);
    int4 values = int4(int(gid));
    auto small = values < int4(3);
    if (all(small) || any((values < int4(2)) | (values == int4(7)))) data[gid] = 0u;
    if (float(gid) < LOWEST) data[gid] = 1u;
}
