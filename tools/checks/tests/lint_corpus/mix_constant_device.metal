// expect: address-space-mix 7
#include <metal_stdlib>
using namespace metal;
inline uint get(device const uint* p) { return p[0]; }
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = get(&n);
}
