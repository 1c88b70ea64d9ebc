// expect: constant-write 5
#include <metal_stdlib>
using namespace metal;
kernel void k(device const uint* in [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    in[gid] = 1;
}
