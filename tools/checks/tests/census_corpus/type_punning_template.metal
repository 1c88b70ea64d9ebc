// expect: type-punning 5
#include <metal_stdlib>
using namespace metal;
template <typename T> inline T load(device const uchar* p, uint at) {
    return *(device const T*)(p + at);
}
kernel void f(device const uchar* in [[buffer(0)]], device ulong* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = load<ulong>(in, 8u * gid);
}
