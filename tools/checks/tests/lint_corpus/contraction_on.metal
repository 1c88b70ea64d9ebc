// expect: contraction 5
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp contract(on)
kernel void k(device float* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = out[gid] * out[gid + 1] + out[gid + 2];
}
