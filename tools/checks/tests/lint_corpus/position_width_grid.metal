// expect: position-width 6
#include <metal_stdlib>
using namespace metal;
kernel void gather(device uint* out [[buffer(0)]],
                   uint gid [[thread_position_in_grid]],
                   uint3 size [[threads_per_grid]]) {
    if (gid >= 64) return;
    out[gid] = size.x;
}
