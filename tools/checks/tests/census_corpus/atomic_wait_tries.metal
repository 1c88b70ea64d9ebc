// expect: atomic-wait 8
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
// A lock that is tried now and then: a count of tries does not open it.
kernel void k(device atomic_uint* lock [[buffer(0)]], device uint* data [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint tries = 0u;
    while (true) {
        uint old = 0u;
        if ((tries & 3u) == 0u && atomic_compare_exchange_weak_explicit(lock, &old, 1u, memory_order_relaxed, memory_order_relaxed)) break;
        tries++;
    }
    data[0] += gid;
    atomic_store_explicit(lock, 0u, memory_order_relaxed);
}
