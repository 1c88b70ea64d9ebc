// expect: buffer-index 4
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* a [[buffer(0)]], device uint* b [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    a[gid] = b[gid];
}
