// expect: census 5
#include <metal_stdlib>
using namespace metal;
kernel void f(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 017 + 0b11 + gid;
}
