// expect: metal-syntax 6
#include <metal_stdlib>
using namespace metal;
// A cast to as many bytes in more components.
kernel void k(device const ulong2* in [[buffer(0)]], device uint4* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = (uint4)in[gid];
}
