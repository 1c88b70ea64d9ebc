// expect: atomic-wait 6
#include <metal_stdlib>
using namespace metal;
kernel void f(device atomic_uint* ticket [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint now = 0u;
    do {
        now = atomic_load_explicit(ticket, memory_order_relaxed);
    } while (now != gid);
    out[gid] = now;
}
