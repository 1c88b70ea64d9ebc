// expect: subnormal 6
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
kernel void k(device float* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = max(out[gid], 1e-40f);
}
