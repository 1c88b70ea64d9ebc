// expect: recursion 9
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
uint odd(uint n);
uint even(uint n) { return n == 0u ? 1u : odd(n - 1u); }
// The call that closes the circle is named.
uint odd(uint n) {
    return n == 0u ? 0u : even(n - 1u);
}
kernel void k(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = even(gid);
}
