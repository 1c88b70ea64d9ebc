#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
// Barriers and SIMD-group operations that all threads reach which take part.
struct Sponge {
    uint cell;
    uint filled;
};
static Sponge permuted(Sponge s) {
    s.cell = simd_shuffle_xor(s.cell, ushort(1));
    s.filled = 0u;
    return s;
}
static float total(float x, threadgroup float* parts, uint lane, uint group, uint groups) {
    float sum = simd_sum(x);
    if (lane == 0u) parts[group] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (group == 0u) sum = simd_sum(lane < groups ? parts[lane] : 0.0f);
    return sum;
}
[[max_total_threads_per_threadgroup(256)]]
kernel void meetings(device float* data [[buffer(0)]], constant uint& n [[buffer(1)]], uint tid [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]], uint tpg [[threads_per_threadgroup]]) {
    threadgroup float parts[32];
    threadgroup uint last;
    if (n == 0u) return;
    for (uint round = 0u; round < n; round++) {
        float x = 0.0f;
        for (uint i = tid; i < n; i += tpg) x += data[i];
        x = total(x, parts, lane, group, groups);
        if (tid == 0u) {
            data[round] = x;
            last = round;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (last == 3u) threadgroup_barrier(mem_flags::mem_threadgroup);
        if (data[tid] > 1.0f) continue;
        data[tid] += 1.0f;
    }
    Sponge s;
    s.cell = tid;
    s.filled = 0u;
    for (uint i = 0u; i < n; i++) {
        s.filled += 1u;
        if (s.filled == 8u) s = permuted(s);
    }
    uint value = s.cell;
    value = simd_broadcast_first(value);
    if (value > 3u) value = simd_min(value);
    for (uint first = tid; simd_any(first < n); first += tpg) value += simd_sum(first);
    data[tid] += float(value);
}
