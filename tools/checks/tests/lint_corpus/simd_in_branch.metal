// expect: barrier-divergent 6
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]]) {
    if (tid == 0) {
        out[0] = simd_sum(tpg);
    }
}
