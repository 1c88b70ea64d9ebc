// expect: atomic-wait 5
#include <metal_stdlib>
using namespace metal;
kernel void f(device atomic_uint* flag [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    while (atomic_load_explicit(flag, memory_order_relaxed) == 0u) {}
    out[gid] = 1u;
}
