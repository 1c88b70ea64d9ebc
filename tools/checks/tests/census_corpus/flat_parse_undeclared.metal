// expect: flat-parse 5
#include <metal_stdlib>
using namespace metal;
kernel void f(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    NOT_UNROLLED for (uint i = 0; i < 4; i++) out[4 * gid + i] = i;
}
