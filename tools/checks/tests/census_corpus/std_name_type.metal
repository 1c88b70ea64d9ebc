// expect: std-name 4
#include <metal_stdlib>
using namespace metal;
struct mem_flags { uint bits; };
kernel void f(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) { out[gid] = out[gid] + 1u; }
