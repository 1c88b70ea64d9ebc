// expect: kernel-name 9
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = 1;
}
[[host_name("k")]]
kernel void k2(device uint* a [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    a[gid] = 1;
}
