// expect: atomic-wait 8
#include <metal_stdlib>
using namespace metal;
// A sum that each round begins anew.
kernel void k(device atomic_uint* flags [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint ready[4] = {0u, 0u, 0u, 0u};
    uint sum = 0u;
    while (sum < 4u) {
        sum = 0u;
        for (uint i = 0; i < 4u; i++) {
            ready[i] = atomic_load_explicit(&flags[i], memory_order_relaxed);
            sum += ready[i] != 0u ? 1u : 0u;
        }
    }
    out[gid] = sum;
}
