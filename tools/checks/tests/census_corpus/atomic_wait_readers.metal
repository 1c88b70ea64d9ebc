// expect: atomic-wait 7
#include <metal_stdlib>
using namespace metal;
// A lock of readers: the value that is expected lacks the bit of the writer.
kernel void k(device atomic_uint* flags [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint value = atomic_load_explicit(flags, memory_order_relaxed);
    while (true) {
        uint wanted = value & 0x7fffffffu;
        if (atomic_compare_exchange_weak_explicit(flags, &wanted, wanted + 1u, memory_order_relaxed, memory_order_relaxed)) break;
        value = wanted;
    }
    out[gid] = value;
}
