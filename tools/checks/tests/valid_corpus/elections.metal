#include <metal_stdlib>
using namespace metal;
// Keys in memory that the threads of a SIMD-group take in turn.
[[max_total_threads_per_threadgroup(256)]] kernel void elections(device uint* out [[buffer(0)]], device const uint* keys [[buffer(1)]], uint gid [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]], uint width [[threads_per_simdgroup]]) {
    bool done = false;
    while (!simd_all(done)) {
        uint leader = simd_min(done ? width : lane);
        uint key = simd_shuffle(keys[gid], ushort(leader));
        if (key == keys[gid]) {
            out[key] += 1u;
            done = true;
        }
    }
}
