// expect: threadgroup-class 8
#include <metal_stdlib>
using namespace metal;
struct Sum {
    uint total = 0;
};
kernel void f(device uint* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]]) {
    threadgroup Sum sums[32];
    sums[tid].total = out[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[tid] = sums[tid ^ 1u].total;
}
