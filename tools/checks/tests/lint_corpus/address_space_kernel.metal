// expect: address-space 4
#include <metal_stdlib>
using namespace metal;
kernel void k(uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1;
}
