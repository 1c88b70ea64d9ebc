// expect: atomic-wait 7
#include <metal_stdlib>
using namespace metal;
// The same thread is asked in each round.
kernel void k(device uint* out [[buffer(0)]], device const uint* keys [[buffer(1)]], uint gid [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    bool done = false;
    while (!simd_all(done)) {
        uint key = simd_shuffle(keys[gid], ushort(0));
        if (key == keys[gid]) {
            out[key] += 1u;
            done = true;
        }
    }
}
