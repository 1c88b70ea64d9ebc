// expect: atomic-wait 9
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
// A lock whose owner sets a flag of its own.
kernel void k(device atomic_uint* lock [[buffer(0)]], device uint* data [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    bool done = false;

    while (!done) {
        if (atomic_exchange_explicit(lock, 1u, memory_order_relaxed) == 0u) {
            data[0] += gid;
            atomic_store_explicit(lock, 0u, memory_order_relaxed);
            done = true;
        }
    }
}
