// expect: subnormal 5
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
constant float LEAST = 1.4e-45f;
kernel void k(device float* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = LEAST;
}
