// expect: census 5
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp contract(off)
typedef decltype(1.0) wide;
kernel void f(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) { out[gid] = sizeof(wide) * gid; }
