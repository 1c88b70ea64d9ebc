// expect: shuffle-size 6
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]]) {
    ulong x = tid;
    out[tid] = uint(simd_shuffle_xor(x, 1)) + tpg;
}
