// expect: atomic-wait 6
#include <metal_stdlib>
using namespace metal;
kernel void f(device atomic_uint* lock [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint expected = 0u;
    while (!atomic_compare_exchange_weak_explicit(lock, &expected, 1u, memory_order_relaxed, memory_order_relaxed)) expected = 0u;
    out[0] += gid;
    atomic_store_explicit(lock, 0u, memory_order_relaxed);
}
