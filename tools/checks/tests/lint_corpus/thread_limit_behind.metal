// expect: thread-limit 4
#include <metal_stdlib>
using namespace metal;
kernel void f(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) [[max_total_threads_per_threadgroup(16)]] {
    out[gid] = 1u;
}
