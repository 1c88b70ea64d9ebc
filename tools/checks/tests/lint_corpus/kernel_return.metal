// expect: kernel-return 4
#include <metal_stdlib>
using namespace metal;
kernel uint k(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1;
    return 1;
}
