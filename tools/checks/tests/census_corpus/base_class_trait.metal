// expect: base-class 4
#include <metal_stdlib>
using namespace metal;
template <typename T> struct is_small : integral_constant<bool, sizeof(T) <= 4> {};
kernel void f(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) { out[gid] = is_small<uint>::value ? 1u : 0u; }
