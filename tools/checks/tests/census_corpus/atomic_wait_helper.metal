// expect: atomic-wait 12
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
// A lock behind a function.
static bool taken(device atomic_uint* lock) {
    uint old = 0u;
    return atomic_compare_exchange_weak_explicit(lock, &old, 1u, memory_order_relaxed, memory_order_relaxed);
}
kernel void k(device atomic_uint* lock [[buffer(0)]], device uint* data [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint rounds = 0u;
    while (!taken(lock)) rounds++;
    data[gid] = rounds;
}
