// expect: type-punning 6
#include <metal_stdlib>
using namespace metal;
kernel void f(device const float* in [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    float x = in[gid];
    out[gid] = *(thread uint*)&x;
}
