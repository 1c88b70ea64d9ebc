// expect: barrier-divergent 14
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp contract(off)
[[max_total_threads_per_threadgroup(256)]] kernel void total(
    device const float* in [[buffer(0)]], device float* out [[buffer(1)]], constant uint& n [[buffer(2)]],
    uint gid [[thread_position_in_grid]], uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]], uint sgs [[simdgroups_per_threadgroup]]) {
    threadgroup float part[32];
    float x = simd_sum(gid < n ? in[gid] : 0.0f);
    if (lane == 0u) part[sg] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg != 0u) return;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[group] = x;
}
