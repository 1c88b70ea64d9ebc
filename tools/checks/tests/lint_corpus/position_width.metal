// expect: position-width 4
#include <metal_stdlib>
using namespace metal;
kernel void gather(device uint* out [[buffer(0)]], uint2 group [[threadgroup_position_in_grid]], uint tpg [[threads_per_threadgroup]]) {
    out[group.x] = tpg;
}
