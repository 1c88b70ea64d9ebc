// expect: atomic-wait 7
#include <metal_stdlib>
using namespace metal;
// A flag that each round sets and takes back.
kernel void k(device atomic_uint* flags [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    bool all = false;
    while (!all) {
        all = true;
        for (uint i = 0; i < 4u; i++) {
            if (atomic_load_explicit(&flags[i], memory_order_relaxed) == 0u) all = false;
        }
    }
    out[gid] = 1u;
}
