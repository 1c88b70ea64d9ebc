// expect: max-threads 5
#include <metal_stdlib>
using namespace metal;
[[max_total_threads_per_threadgroup(2048)]]
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = 1;
}
