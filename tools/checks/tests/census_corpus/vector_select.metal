// expect: metal-syntax 7
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
kernel void k(device uint4* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint4 a = out[gid], mask = a >> 31u;
    out[gid] = select(a, uint4(3u), mask);
}
