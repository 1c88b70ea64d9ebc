// expect: literal-suffix 4
#include <metal_stdlib>
using namespace metal;
constant ulong mask = 0xffLL;
kernel void k(device ulong* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = mask;
}
