// expect: barrier-divergent 10
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
[[max_total_threads_per_threadgroup(256)]]
kernel void k(device uint* data [[buffer(0)]], constant uint& n [[buffer(1)]], uint tid [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint tpg [[threads_per_threadgroup]]) {
    threadgroup uint words[256];
    uint count = data[tid];
    for (uint i = 0u; i < count; i++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        words[tid] = i;
    }
    data[tid] = words[n];
}
