// Lane kernels, flat and with barriers.
#include <metal_stdlib>
#include <lanes.h>
using namespace metal;

/// out[i] = a[i] * b[i] + i
kernel void lane_mad(device const uint* a [[buffer(0)]],
                     device const uint* b [[buffer(1)]],
                     device uint* out [[buffer(2)]],
                     constant uint& n [[buffer(3)]],
                     gid_l gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    index_l i = index_l(gid);
    lane_store(out, i, lane_load(a, i) * lane_load(b, i) + to_vec(i));
}

/// out[group] = sum of the group's `n` words
kernel void lane_sum(device const uint* in [[buffer(0)]],
                     device uint* out [[buffer(1)]],
                     constant uint& n [[buffer(2)]],
                     threadgroup uint* partial [[threadgroup(0)]],
                     tid_l tid [[thread_index_in_threadgroup]],
                     uint tpg [[threads_per_threadgroup]],
                     uint group [[threadgroup_position_in_grid]],
                     uint sg [[simdgroup_index_in_threadgroup]],
                     uint nsg [[simdgroups_per_threadgroup]],
                     tid_l lane [[thread_index_in_simdgroup]]) {
    LANE_MULTIPLE(n);
    uint_l acc = uint_l(0u);
    for (uint i0 = 0; i0 < n; i0 += tpg) {
        index_l i = index_l(tid) + i0;
        LANE_GUARD(i, n) acc += lane_load(in, i + ulong(group) * n);
    }
    uint total = simd_sum(acc);
    if (LANE_LEADER(lane)) partial[sg] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (LANE_LEADER(tid)) {
        uint sum = 0;
        for (uint s = 0; s < nsg; s++) sum += partial[s];
        out[group] = sum;
    }
}
