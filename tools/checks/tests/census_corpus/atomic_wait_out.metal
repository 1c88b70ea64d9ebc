// expect: atomic-wait 9
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
static void peek(device atomic_uint* flag, thread uint& value) { value = atomic_load_explicit(flag, memory_order_relaxed); }
// A function sets the value.
kernel void k(device atomic_uint* lock [[buffer(0)]], device uint* data [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    uint value = 0u;
    while (value == 0u) peek(lock, value);
    data[gid] = value;
}
