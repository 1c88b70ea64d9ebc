// expect: barrier-divergent 15
#include <metal_stdlib>
using namespace metal;
// A count that is set through a pointer to its object.
struct Counts { uint first; uint second; };
[[max_total_threads_per_threadgroup(256)]]
kernel void k(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], uint tid [[thread_index_in_threadgroup]], uint gid [[thread_position_in_grid]],
              uint tpg [[threads_per_threadgroup]]) {
    threadgroup uint t[256];
    Counts counts = {2u, 3u};
    thread Counts* p = &counts;
    p->first = tid & 1u;
    for (uint i = 0; i < counts.first; i++) {
        t[tid] = i;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[gid] = t[tpg - 1u - tid];
}
