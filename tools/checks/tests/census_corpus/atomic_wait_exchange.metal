// expect: atomic-wait 6
#include <metal_stdlib>
using namespace metal;
// A read by an exchange of a value for itself.
kernel void k(device atomic_uint* flags [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    for (;;) {
        uint value = 0u;
        if (!atomic_compare_exchange_weak_explicit(flags, &value, value, memory_order_relaxed, memory_order_relaxed) && value != 0u) break;
    }
    out[gid] = 1u;
}
