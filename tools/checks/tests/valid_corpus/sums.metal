// Barriers, SIMD-group operations, threadgroup arrays and templates as the rules want them.
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp contract(off)

constant uint WEIGHTS[4] = {1, 2, 3, 4};

struct SumParams {
    uint n;
    uint stride;
};

struct Pair {
    uint a, b;
    uint sum() const { return a + b; }
};

template <typename T> inline T add(T a, T b) { return a + b; }
inline void swap_pair(thread Pair& p) {
    uint t = p.a;
    p.a = p.b;
    p.b = t;
}

/// Sums `p.n` words per threadgroup.
kernel void sum_words(device const uint* in [[buffer(0)]],
                      device uint* out [[buffer(1)]],
                      constant SumParams& p [[buffer(2)]],
                      threadgroup uint* partial [[threadgroup(0)]],
                      uint tid [[thread_index_in_threadgroup]],
                      uint tpg [[threads_per_threadgroup]],
                      uint group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint sg [[simdgroup_index_in_threadgroup]],
                      uint nsg [[simdgroups_per_threadgroup]]) {
    threadgroup uint carry[2];
    uint acc = 0;
    device const uint* row = in + ulong(group) * p.stride;
    for (uint i = tid; i < p.n; i += tpg) acc = add(acc, row[i] * WEIGHTS[i & 3]);
    acc = simd_sum(acc);
    if (lane == 0) partial[sg] = acc;
    if (tid == 0) carry[0] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) {
        uint total = carry[0];
        for (uint i = 0; i < nsg; i++) total += partial[i];
        out[group] = total;
    }
}

/// Writes `a + b` of a swapped pair.
template <typename T>
kernel void pairs(device const T* in [[buffer(0)]],
                  device T* out [[buffer(1)]],
                  constant uint& n [[buffer(2)]],
                  uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    Pair p = {uint(in[gid]), uint(gid)};
    swap_pair(p);
    out[gid] = T(p.sum());
}
template [[host_name("pairs_uint")]] kernel void pairs<uint>(device const uint*, device uint*, constant uint&, uint);
template [[host_name("pairs_ulong")]] kernel void pairs<ulong>(device const ulong*, device ulong*, constant uint&, uint);

/// Positions in two dimensions, vectors, atomics.
kernel void count(device atomic_uint* bins [[buffer(0)]],
                  device const uint4* keys [[buffer(1)]],
                  constant uint2& size [[buffer(2)]],
                  uint2 pos [[thread_position_in_grid]]) {
    if (pos.x >= size.x) return;
    uint4 key = keys[pos.y * size.x + pos.x];
    atomic_fetch_add_explicit(&bins[key.x & 255u], key.y + 1u, memory_order_relaxed);
}
