// expect: atomic-wait 9
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
// A look-back that asks again while a flag is unset.
kernel void k(device atomic_uint* lock [[buffer(0)]], device uint* data [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint sum = 0u;
    uint at = gid;
    while (at > 0u) {
        uint flag = atomic_load_explicit(lock + at - 1u, memory_order_relaxed);
        if (flag == 0u) continue;
        sum += data[at - 1u];
        if (flag == 2u) break;
        at -= 1u;
    }
    data[gid] = sum;
}
