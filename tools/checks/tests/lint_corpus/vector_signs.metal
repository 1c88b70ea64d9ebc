// expect: metal-syntax 6
#include <metal_stdlib>
using namespace metal;
kernel void f(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint4 a = uint4(in[gid]);
    int4 b = a;
    out[gid] = uint(b.x);
}
