// expect: unknown-name 7
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
static uint mixed(uint x);
kernel void k(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = mixed(gid);
}
