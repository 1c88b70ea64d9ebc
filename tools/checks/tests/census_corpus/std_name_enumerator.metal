// expect: std-name 4
#include <metal_stdlib>
using namespace metal;
enum Order { first, memory_order_acquire_all, nearest, linear = 4, winding = 5 };
kernel void f(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) { out[gid] = uint(first); }
