// expect: type-punning 5
#include <metal_stdlib>
using namespace metal;
kernel void f(device const ushort* in [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = ((device const uint*)in)[gid];
}
