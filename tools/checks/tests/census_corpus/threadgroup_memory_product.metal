// expect: threadgroup-memory 7
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
[[max_total_threads_per_threadgroup(256)]]
kernel void k(device float* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]]) {
    threadgroup float tile[64 * 256];
    for (uint i = tid; i < 16384u; i += tpg) tile[i] = out[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[tid] = tile[16383u - tid];
}
