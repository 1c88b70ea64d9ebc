// expect: recursion 5
#include <metal_stdlib>
using namespace metal;
inline uint fact(uint n) {
    return n == 0 ? 1 : n * fact(n - 1);
}
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = fact(n);
}
