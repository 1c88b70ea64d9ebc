// expect: thread-limit 6
#include <metal_stdlib>
using namespace metal;
template <typename T>
[[max_total_threads_per_threadgroup(16)]]
kernel void f(device T* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = T(1);
}
template [[host_name("f_uint")]] kernel void f<uint>(device uint*, uint);
