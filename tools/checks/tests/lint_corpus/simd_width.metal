// expect: simd-width 5
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]]) {
    uint lane = tid & 31;
    out[lane] = simd_sum(tpg);
}
