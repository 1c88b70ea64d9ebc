// expect: function-address 8
#include <metal_stdlib>
using namespace metal;
inline uint twice(uint x) { return 2 * x; }
template <typename F> inline uint apply(F f, uint x) { return f(x); }
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = apply(&twice, n);
}
