// expect: flat-parse 5
#include <metal_stdlib>
using namespace metal;
kernel void f(device uint* out [[buffer(0)]], constant ulong& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = uint(min(gid, n));
}
