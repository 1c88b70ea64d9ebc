// expect: atomic-wait 11
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
struct Wait {
    uint seen;
    uint tries;
};
kernel void k(device atomic_uint* lock [[buffer(0)]], device uint* data [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    Wait wait = {0u, 0u};
    while (wait.seen == 0u) {
        wait.seen = atomic_load_explicit(lock, memory_order_relaxed);
        wait.tries++;
    }
    data[gid] = wait.tries;
}
