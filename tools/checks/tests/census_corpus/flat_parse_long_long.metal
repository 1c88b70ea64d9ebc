// expect: flat-parse 4
#include <metal_stdlib>
using namespace metal;
kernel void f(device ulong* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) { out[gid] = 1ull << gid; }
