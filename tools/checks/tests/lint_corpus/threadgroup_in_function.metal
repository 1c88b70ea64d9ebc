// expect: threadgroup-in-function 5
#include <metal_stdlib>
using namespace metal;
inline uint f() {
    threadgroup uint t[4];
    return t[0];
}
kernel void k(device uint* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]]) {
    out[tid] = f() + tpg;
}
