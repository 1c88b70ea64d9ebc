// expect: barrier-divergent 7
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
static void exchange(threadgroup uint* words, uint tid, uint value) {
    words[tid] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
}
[[max_total_threads_per_threadgroup(256)]]
kernel void k(device uint* data [[buffer(0)]], constant uint& n [[buffer(1)]], uint tid [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint tpg [[threads_per_threadgroup]]) {
    threadgroup uint words[256];
    if (tid < tpg / 2u) exchange(words, tid, data[tid]);
    else words[tid] = 0u;
    data[tid] = words[n];
}
