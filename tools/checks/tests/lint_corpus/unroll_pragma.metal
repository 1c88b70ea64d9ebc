// expect: unroll-pragma 6
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    #pragma unroll
    for (uint i = 0; i < 4; i++) out[gid] += i;
    out[gid] = n;
}
