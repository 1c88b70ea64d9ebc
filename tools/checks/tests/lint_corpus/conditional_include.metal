// expect: conditional-include 5
#include <metal_stdlib>
using namespace metal;
#if LANE_WIDTH > 1
#include <lanes.h>
#endif
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = n;
}
