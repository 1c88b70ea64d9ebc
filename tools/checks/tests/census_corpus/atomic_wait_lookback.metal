// expect: atomic-wait 9
#include <metal_stdlib>
using namespace metal;
inline bool ready(device atomic_uint* state, uint group) {
    return atomic_load_explicit(state + group, memory_order_relaxed) != 0u;
}
kernel void f(device atomic_uint* state [[buffer(0)]], device uint* out [[buffer(1)]], uint group [[threadgroup_position_in_grid]]) {
    uint sum = 0u;
    for (;;) {
        if (ready(state, group)) break;
        sum += 1u;
    }
    out[group] = sum;
}
