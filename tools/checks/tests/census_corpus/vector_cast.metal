// expect: flat-parse 6
#include <metal_stdlib>
using namespace metal;
// A cast to more components than there are.
kernel void k(device const float4* in [[buffer(0)]], device float4* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = (float4)(in[gid].xyz);
}
