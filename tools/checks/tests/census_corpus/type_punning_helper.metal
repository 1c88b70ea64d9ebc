// expect: type-punning 5
#include <metal_stdlib>
using namespace metal;
// Floats as integers, in a function.
static uint word(device const void* p, uint i) { return static_cast<device const uint*>(p)[i]; }
kernel void k(device const float* in [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = word(in, gid);
}
