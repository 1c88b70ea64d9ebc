#include <metal_stdlib>
using namespace metal;

// Vectors of three elements lie 16 bytes apart in tables.
constant float3 kRows[3] = {float3(1, 2, 3), float3(4, 5, 6), float3(7, 8, 9)};
constant float3x3 kMatrices[2] = {float3x3(2.0f), float3x3(float3(1, 2, 3), float3(4.0f), float3(7, 8, 9))};
kernel void threes(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                   uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    uint i = in[gid];
    out[2 * gid] = uint(kRows[i % 3][i / 3]);
    out[2 * gid + 1] = uint(kMatrices[i % 2][i / 3][i % 3]);
}
