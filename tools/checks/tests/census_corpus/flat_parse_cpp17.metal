// expect: flat-parse 4
#include <metal_stdlib>
using namespace metal;
template <typename T> inline T half_of(T x) { if constexpr (sizeof(T) == 4) return x / 2; else return x; }
kernel void f(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) { out[gid] = half_of(out[gid]); }
