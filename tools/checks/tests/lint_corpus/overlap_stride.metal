// expect: overlap 8
#include <metal_stdlib>
using namespace metal;
/// Cost: 12 bytes per thread.
/// Lengths: src 2 * threads, dst threads.
/// InPlace: src, dst.
kernel void f(device const uint* src [[buffer(0)]], device uint* dst [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint low = src[2u * gid], high = src[2u * gid + 1u];
    dst[gid] = low + high;
}
