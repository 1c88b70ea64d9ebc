// expect: buffer-index 4
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out, uint gid [[thread_position_in_grid]]) {
    out[gid] = 1;
}
