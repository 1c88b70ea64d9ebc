// expect: type-punning 7
#include <metal_stdlib>
using namespace metal;
// Floats as integers, by a reference to the array.
kernel void k(device const float* in [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    float x[2] = {in[gid], 1.0f};
    thread uint (&bits)[2] = (thread uint (&)[2])x;
    bits[0] ^= 1u;
    out[gid] = uint(x[0]);
}
