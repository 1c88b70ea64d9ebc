#include <metal_stdlib>
using namespace metal;
// Bytes by vectors, a sum of addresses by characters and numbers of another sign.
inline uint word(device const uchar* p) { return as_type<uint>(*(device const uchar4*)p); }
inline ulong wide_word(device const uchar* p) { return as_type<ulong>(*(device const uint2*)p); }
kernel void f(device const uchar* in [[buffer(0)]], device ulong* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = ulong(word(in + 4u * gid)) + wide_word(in + 8u * gid);
}
kernel void g(device uint* data [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    device int* same = (device int*)data;
    uint bits = *(device uint*)((device uchar*)data + 4u * gid);
    uint x = bits >> 1;
    same[gid] = int(bits + x);
}
