// expect: address-space-mix 7
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    uint x = 1;
    device uint* p = &x;
    out[gid] = p[0];
}
