// expect: atomic-wait 7
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
// A flag that is no atomic.
kernel void k(device uint* flag [[buffer(0)]], device uint* data [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    while (flag[0] == 0u) {}
    data[gid] = 1u;
}
