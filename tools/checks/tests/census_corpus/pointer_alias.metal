// expect: address-space 5
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
using Row = float*;
kernel void k(device float* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    Row row = out;
    out[gid] = row[gid];
}
