// expect: overlap 7
#include <metal_stdlib>
using namespace metal;
/// Cost: 12 bytes per thread.
/// Lengths: src, dst threads.
/// InPlace: src, dst.
kernel void f(device const uint* src [[buffer(0)]], device ulong* dst [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    dst[gid] = ulong(src[gid]);
}
