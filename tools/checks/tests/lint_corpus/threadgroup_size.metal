// expect: threadgroup-size 4
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]]) {
    threadgroup uint t[64];
    t[tid] = tid;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[tid] = t[63 - tid];
}
