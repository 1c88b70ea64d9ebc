// expect: threadgroup-initialiser 5
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]]) {
    threadgroup uint t[4] = {0, 0, 0, 0};
    out[tid] = t[0] + tpg;
}
