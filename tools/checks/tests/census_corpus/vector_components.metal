// expect: metal-syntax 7
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
kernel void k(device float4* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float3 place = out[gid].xyz;
    out[gid] = float4(place);
}
