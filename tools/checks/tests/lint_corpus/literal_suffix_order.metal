// expect: literal-suffix 6
#include <metal_stdlib>
using namespace metal;
kernel void k(device ulong* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = 7LLU;
}
