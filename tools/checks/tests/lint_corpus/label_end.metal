// expect: label 7
#include <metal_stdlib>
using namespace metal;
inline uint last(uint n) {
    uint r = 0;
    for (uint i = 0; i < n; i++) { r += i; }
    done: return r;
}
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = last(n);
}
