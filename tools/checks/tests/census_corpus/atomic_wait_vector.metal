// expect: atomic-wait 7
#include <metal_stdlib>
using namespace metal;
// A vector of the value and a count.
kernel void k(device atomic_uint* flags [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint2 state = uint2(0u, 0u);
    while (state.x == 0u) state = uint2(atomic_load_explicit(flags, memory_order_relaxed), state.y + 1u);
    out[gid] = state.y;
}
