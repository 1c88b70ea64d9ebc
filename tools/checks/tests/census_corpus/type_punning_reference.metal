// expect: type-punning 7
#include <metal_stdlib>
using namespace metal;
// A float as an integer, by reference.
kernel void k(device const float* in [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    float x = in[gid];
    thread uint& bits = reinterpret_cast<thread uint&>(x);
    bits ^= 0x80000000u;
    out[gid] = uint(x);
}
