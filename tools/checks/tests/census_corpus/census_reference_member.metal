// expect: census 4
#include <metal_stdlib>
using namespace metal;
struct View { device uint& first; };
kernel void f(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) { out[gid] = gid; }
