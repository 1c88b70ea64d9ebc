// expect: overlap 8
#include <metal_stdlib>
using namespace metal;
/// Cost: 8 bytes per thread.
/// Lengths: src, dst threads.
/// InPlace: src, dst.
kernel void f(device const uint* src [[buffer(0)]], device uint* dst [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    device const uint* next = src + 1;
    dst[gid] = next[gid];
}
