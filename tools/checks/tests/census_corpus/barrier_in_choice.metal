// expect: barrier-divergent 9
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
[[max_total_threads_per_threadgroup(256)]]
kernel void k(device uint* data [[buffer(0)]], constant uint& n [[buffer(1)]], uint tid [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint tpg [[threads_per_threadgroup]]) {
    uint value = data[tid];
    bool some = value > n &&
                simd_any(value > 100u);
    data[tid] = uint(some) + lane + tpg;
}
