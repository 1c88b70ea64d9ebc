// expect: atomic-wait 10
#include <metal_stdlib>
using namespace metal;
// An insertion into a table: the place moves on only where its owner has published.
constant uint FREE = 0u;
constant uint BUSY = 1u;
constant uint FULL = 2u;
kernel void k(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    while (true) {
        uint st = FREE;
        if (atomic_compare_exchange_weak_explicit(state + s, &st, BUSY, memory_order_relaxed, memory_order_relaxed)) { keys[s] = gid; atomic_store_explicit(state + s, FULL, memory_order_relaxed); break; }
        if (st == FULL) s = (s + 1u) & mask;
    }
}
