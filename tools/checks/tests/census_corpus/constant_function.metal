// expect: constant-initialiser 7
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
static uint twice(uint x) { return 2u * x; }

constant uint SIZES[2] = {1u, twice(1u)};
kernel void k(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = SIZES[gid & 1u];
}
