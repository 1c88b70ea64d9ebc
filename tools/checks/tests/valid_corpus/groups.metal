#include <metal_stdlib>
using namespace metal;
// One SIMD-group adds the sums of all.
#pragma METAL fp contract(off)
[[max_total_threads_per_threadgroup(256)]] kernel void total(
    device const float* in [[buffer(0)]], device float* out [[buffer(1)]], constant uint& n [[buffer(2)]],
    uint gid [[thread_position_in_grid]], uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]], uint sgs [[simdgroups_per_threadgroup]]) {
    threadgroup float part[32];
    float x = simd_sum(gid < n ? in[gid] : 0.0f);
    if (lane == 0u) part[sg] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u) {
        float y = simd_sum(lane < sgs ? part[lane] : 0.0f);
        if (lane == 0u) out[group] = y;
    }
}
[[max_total_threads_per_threadgroup(256)]] kernel void returning(
    device const float* in [[buffer(0)]], device float* out [[buffer(1)]], constant uint& n [[buffer(2)]],
    uint gid [[thread_position_in_grid]], uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]], uint sgs [[simdgroups_per_threadgroup]]) {
    threadgroup float part[32];
    float x = simd_sum(gid < n ? in[gid] : 0.0f);
    if (lane == 0u) part[sg] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg != 0u) return;
    x = simd_sum(part[lane]);
    out[group] = x;
}
