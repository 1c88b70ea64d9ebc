// expect: atomic-wait 11
#include <metal_stdlib>
using namespace metal;
// The exchange is the condition of the loop.
constant uint FREE = 0u;
constant uint BUSY = 1u;
constant uint FULL = 2u;
kernel void k(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    uint st = FREE;
    while (!atomic_compare_exchange_weak_explicit(state + s, &st, BUSY, memory_order_relaxed, memory_order_relaxed)) {
        if (st == FULL) s = (s + 1u) & mask;
        st = FREE;
    }
    keys[s] = gid; atomic_store_explicit(state + s, FULL, memory_order_relaxed);
}
