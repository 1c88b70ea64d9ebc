// expect: atomic-wait 6
#include <metal_stdlib>
using namespace metal;
// A read by adding nothing.
kernel void k(device atomic_uint* flags [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    while (atomic_fetch_add_explicit(flags, 0u, memory_order_relaxed) < 8u) {}
    out[gid] = 1u;
}
