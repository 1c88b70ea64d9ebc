// expect: variadic 4
#include <metal_stdlib>
using namespace metal;
template <typename T> inline T first(T n, ...) { return n; }
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = first(n);
}
