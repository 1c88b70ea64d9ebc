// expect: subnormal 6
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
kernel void k(device float* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = out[gid] + -5.0e-39f;
}
