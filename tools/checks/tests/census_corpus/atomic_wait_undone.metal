// expect: atomic-wait 6
#include <metal_stdlib>
using namespace metal;
// A lock of readers: a number is taken, and put back.
kernel void k(device atomic_uint* flags [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    for (;;) {
        uint before = atomic_fetch_add_explicit(flags, 1u, memory_order_relaxed);
        if (before < 0x80000000u) break;
        atomic_fetch_sub_explicit(flags, 1u, memory_order_relaxed);
    }
    out[gid] = 1u;
}
