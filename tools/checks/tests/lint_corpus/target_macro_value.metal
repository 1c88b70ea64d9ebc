// expect: target-macro 4
#include <metal_stdlib>
using namespace metal;
#define LANE_WIDTH 4
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = n;
}
