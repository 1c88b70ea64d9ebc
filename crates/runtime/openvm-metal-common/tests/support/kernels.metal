#include <metal_stdlib>
using namespace metal;

struct AddParams {
    uint k;
    uint n;
};

kernel void add(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]],
                constant AddParams& p [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= p.n) return;
    out[gid] = in[gid] + p.k;
}

kernel void reverse(device uint* data [[buffer(0)]], constant uint& mode [[buffer(1)]],
                    threadgroup uint* scratch [[threadgroup(0)]], uint gid [[thread_position_in_grid]],
                    uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]]) {
    scratch[tid] = data[gid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    data[gid] = scratch[tpg - 1 - tid];
}
