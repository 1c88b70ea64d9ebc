// expect: max-threads 6
#include <metal_stdlib>
using namespace metal;
template <uint N>
[[max_total_threads_per_threadgroup(N)]]
kernel void f(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = N;
}
template [[host_name("f_64")]] kernel void f<64>(device uint*, uint);
