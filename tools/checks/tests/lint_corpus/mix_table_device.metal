// expect: address-space-mix 7
#include <metal_stdlib>
using namespace metal;
struct Tap { uint weight; };
constant Tap TAPS[2] = {{1u}, {2u}};
kernel void k(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    device const Tap& tap = TAPS[gid & 1u];
    out[gid] = tap.weight;
}
