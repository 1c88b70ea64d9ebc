// expect: overlap 9
#include <metal_stdlib>
using namespace metal;
/// Cost: 8 bytes per thread.
/// Lengths: src, dst threads.
/// InPlace: src, dst.
kernel void f(device const uint* src [[buffer(0)]], device uint* dst [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint i = gid;
    dst[i] = 1u;
    i++;
    dst[i] = src[i];
}
