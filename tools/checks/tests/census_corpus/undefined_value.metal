// expect: undefined 7
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
kernel void k(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint sum;
    sum += gid;
    out[gid] = sum;
}
