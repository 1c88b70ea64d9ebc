// expect: metal-syntax 7
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
kernel void k(device int4* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    int4 a = out[gid];
    out[gid] = (a < int4(3)) ? a : int4(3);
}
