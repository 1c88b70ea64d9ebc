// expect: atomic-wait 8
#include <metal_stdlib>
using namespace metal;
[[max_total_threads_per_threadgroup(256)]]
kernel void f(device atomic_uint* state [[buffer(0)]], device uint* out [[buffer(1)]], uint tid [[thread_index_in_threadgroup]],
              uint group [[threadgroup_position_in_grid]], uint tpg [[threads_per_threadgroup]]) {
    uint before = 0u;
    while (before == 0u) {
        before = atomic_load_explicit(state + group, memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_device);
    }
    out[group * tpg + tid] = before;
}
