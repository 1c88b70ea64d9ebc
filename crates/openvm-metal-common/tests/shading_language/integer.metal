// Functions of integers.
#include <metal_stdlib>
using namespace metal;

kernel void min_max(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                    uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    uint a = in[2 * gid], b = in[2 * gid + 1];
    out[2 * gid] = min(a, b);
    out[2 * gid + 1] = uint(max(int(a), int(b)));
}
