// expect: thread-limit 7
#include <metal_stdlib>
using namespace metal;
constant constexpr uint LANES = 8;
// A limit that is computed from a constant.
[[max_total_threads_per_threadgroup(LANES * 4)]]
kernel void k(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1u;
}
