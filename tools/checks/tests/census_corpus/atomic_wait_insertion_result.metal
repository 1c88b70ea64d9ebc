// expect: atomic-wait 11
#include <metal_stdlib>
using namespace metal;
// The result of the exchange has a name.
constant uint FREE = 0u;
constant uint BUSY = 1u;
constant uint FULL = 2u;
kernel void k(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    bool done = false;
    while (!done) {
        uint found = FREE;
        bool mine = atomic_compare_exchange_weak_explicit(state + s, &found, BUSY, memory_order_relaxed, memory_order_relaxed);
        if (mine) { keys[s] = gid; atomic_store_explicit(state + s, FULL, memory_order_relaxed); done = true; }
        else if (found != BUSY) s = (s + 1u) & mask;
    }
}
