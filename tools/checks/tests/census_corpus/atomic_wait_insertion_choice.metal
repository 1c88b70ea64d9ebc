// expect: atomic-wait 11
#include <metal_stdlib>
using namespace metal;
// The place stays where it is, by a choice of values.
constant uint FREE = 0u;
constant uint BUSY = 1u;
constant uint FULL = 2u;
kernel void k(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    uint at = s;
    while (at != mask) {
        uint st = FREE;
        if (atomic_compare_exchange_weak_explicit(state + at, &st, BUSY, memory_order_relaxed, memory_order_relaxed)) { keys[at] = gid; atomic_store_explicit(state + at, FULL, memory_order_relaxed); at = mask; continue; }
        at = st == FULL ? keys[at] : at;
    }
}
