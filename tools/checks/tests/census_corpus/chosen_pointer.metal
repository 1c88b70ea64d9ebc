// expect: address-space-mix 9
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
[[max_total_threads_per_threadgroup(256)]]
kernel void k(device uint* data [[buffer(0)]], constant uint& n [[buffer(1)]], uint tid [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint tpg [[threads_per_threadgroup]]) {
    threadgroup uint words[256];
    words[tid] = n + lane + tpg;
    auto place = n > 3u ? &words[tid] : &data[tid];
    *place = 1u;
}
