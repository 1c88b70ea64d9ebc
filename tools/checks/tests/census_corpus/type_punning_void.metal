// expect: type-punning 7
#include <metal_stdlib>
using namespace metal;
// Floats as integers, by a pointer to nothing.
kernel void k(device const float* in [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    device const void* p = in;
    device const uint* bits = (device const uint*)p;
    out[gid] = bits[gid];
}
