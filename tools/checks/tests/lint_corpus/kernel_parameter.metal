// expect: kernel-parameter 4
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* a [[buffer(0)]], uint n, uint gid [[thread_position_in_grid]]) {
    a[gid] = n;
}
