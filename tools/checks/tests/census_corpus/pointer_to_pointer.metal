// expect: address-space 5
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
static float first(device float** rows) { return rows[0][0]; }
kernel void k(device float* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    device float* thread row = out;
    out[gid] = first(&row);
}
