// expect: thread-limit 4
#include <metal_stdlib>
using namespace metal;
[[max_total_threads_per_threadgroup(040)]] kernel void f(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1u;
}
