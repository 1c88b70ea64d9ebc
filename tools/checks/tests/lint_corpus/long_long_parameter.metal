// expect: long-long 4
#include <metal_stdlib>
using namespace metal;
inline ulong twice(long long x) { return 2 * x; }
kernel void k(device ulong* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = twice(n);
}
