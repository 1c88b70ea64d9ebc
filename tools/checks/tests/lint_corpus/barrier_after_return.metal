// expect: barrier-divergent 7
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]]) {
    if (tid >= 8) return;
    out[tid] = tpg;
    threadgroup_barrier(mem_flags::mem_device);
}
