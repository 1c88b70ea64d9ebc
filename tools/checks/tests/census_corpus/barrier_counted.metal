// expect: barrier-divergent 9
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
[[max_total_threads_per_threadgroup(256)]]
kernel void k(device uint* data [[buffer(0)]], constant uint& n [[buffer(1)]], uint tid [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint tpg [[threads_per_threadgroup]]) {
    uint count = 0u;
    if (tid < 3u) count++;
    if (count == 1u) threadgroup_barrier(mem_flags::mem_threadgroup);
    data[tid] = n + lane + tpg;
}
