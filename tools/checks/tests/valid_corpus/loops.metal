#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
// Loops that go on by themselves, beside the ones that wait.
static uint drawn(device atomic_uint* queue) { return atomic_fetch_add_explicit(queue, 1u, memory_order_relaxed); }

kernel void loops(device atomic_uint* cells [[buffer(0)]], device uint* data [[buffer(1)]], constant uint& n [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    // A queue of work.
    uint item;
    while ((item = drawn(cells)) < n) data[item] += 1u;
    for (uint i = atomic_fetch_add_explicit(cells, 1u, memory_order_relaxed); i < n; i = atomic_fetch_add_explicit(cells, 1u, memory_order_relaxed)) data[i] += 1u;
    // The largest value.
    uint seen = atomic_load_explicit(cells + 1, memory_order_relaxed);
    while (seen < gid) {
        if (atomic_compare_exchange_weak_explicit(cells + 1, &seen, gid, memory_order_relaxed, memory_order_relaxed)) break;
    }
    // A sum, whose new value has a name of its own.
    uint old = atomic_load_explicit(cells + 2, memory_order_relaxed);
    uint sum;
    do {
        sum = old * 3u + gid;
    } while (!atomic_compare_exchange_weak_explicit(cells + 2, &old, sum, memory_order_relaxed, memory_order_relaxed));
    // A place in a table of keys.
    uint slot = gid % n;
    while (true) {
        uint empty = 0u;
        if (atomic_compare_exchange_weak_explicit(cells + 3 + slot, &empty, gid, memory_order_relaxed, memory_order_relaxed) || empty == gid) break;
        if (empty != 0u) slot = (slot + 1u) % n;
    }
    // Searches with a limit, by a flag, through a list, in halves.
    bool found = false;
    uint at = 0u;
    while (!found && at < n) {
        if (atomic_load_explicit(cells + at, memory_order_relaxed) == gid) found = true;
        at++;
    }
    for (uint i = 0u; i < n; i++) {
        if (atomic_load_explicit(cells + i, memory_order_relaxed) == 0u) continue;
        data[gid] += i;
    }
    uint node = gid;
    while (data[node] != node) node = data[node];
    uint low = 0u, high = n;
    while (low < high) {
        uint middle = (low + high) / 2u;
        if (data[middle] < gid) low = middle + 1u;
        else high = middle;
    }
    // A sort of its own part.
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint i = 8u * gid + 1u; i < 8u * gid + 8u; i++) {
            if (data[i - 1u] > data[i]) {
                uint larger = data[i - 1u];
                data[i - 1u] = data[i];
                data[i] = larger;
                moved = true;
            }
        }
    }
    data[gid] = low + at;
}
