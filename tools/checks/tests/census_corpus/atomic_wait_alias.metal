// expect: atomic-wait 8
#include <metal_stdlib>
using namespace metal;
// A pointer to the value that is waited for.
kernel void k(device atomic_uint* flags [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint value = 0u;
    thread uint* p = &value;
    while (value == 0u) *p = atomic_load_explicit(flags, memory_order_relaxed);
    out[gid] = value;
}
