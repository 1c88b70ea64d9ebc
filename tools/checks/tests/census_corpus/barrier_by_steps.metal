// expect: barrier-divergent 14
#include <metal_stdlib>
using namespace metal;
// Counts in an array that a moving pointer fills.
[[max_total_threads_per_threadgroup(256)]]
kernel void k(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], uint tid [[thread_index_in_threadgroup]], uint gid [[thread_position_in_grid]],
              uint tpg [[threads_per_threadgroup]]) {
    threadgroup uint t[256];
    uint counts[4];
    thread uint* p = counts;
    for (uint i = 0; i < 4u; i++) *p++ = in[gid + i];
    for (uint i = 0; i < counts[1]; i++) {
        t[tid] = i;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[gid] = t[tpg - 1u - tid];
}
