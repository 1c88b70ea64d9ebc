// expect: barrier-divergent 13
#include <metal_stdlib>
using namespace metal;
// A condition that is written through a reference.
[[max_total_threads_per_threadgroup(256)]]
kernel void k(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], uint tid [[thread_index_in_threadgroup]], uint gid [[thread_position_in_grid]],
              uint tpg [[threads_per_threadgroup]]) {
    threadgroup uint t[256];
    bool meet = true;
    thread bool& m = meet;
    m = in[gid] > 3u;
    t[tid] = 1u;
    if (meet) threadgroup_barrier(mem_flags::mem_threadgroup);
    out[gid] = t[tpg - 1u - tid];
}
