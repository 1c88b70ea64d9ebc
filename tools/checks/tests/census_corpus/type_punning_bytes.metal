// expect: type-punning 8
#include <metal_stdlib>
using namespace metal;
// Floats as integers, by a pointer to bytes.
kernel void k(device const float* in [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    device const uchar* p = (device const uchar*)in;
    p += 4u * gid;
    device const uint* bits = (device const uint*)p;
    out[gid] = bits[0];
}
