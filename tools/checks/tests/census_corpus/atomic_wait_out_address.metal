// expect: atomic-wait 11
#include <metal_stdlib>
using namespace metal;
// A function that takes the address of an atomic.
static bool get(device atomic_uint* flag, thread uint& value) {
    value = atomic_load_explicit(flag, memory_order_relaxed);
    return value != 0u;
}
kernel void k(device atomic_uint* flags [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint value = 0u;
    do {
        if (get(&flags[gid], value)) break;
    } while (true);
    out[gid] = value;
}
