#include <metal_stdlib>
using namespace metal;
#pragma METAL fp contract(off)
// Constructors and members of the thread's memory on results of calls, casts of vectors, and addresses without a type.
struct Complex {
    float re;
    float im;
    constexpr Complex(float re, float im) thread : re(re), im(im) {}
    constexpr Complex(float re) thread : re(re), im(0.0f) {}
    constexpr float real() const thread { return re; }
    Complex squared() const thread { return Complex(re * re - im * im, 2.0f * re * im); }
};
static uint word(device const void* p, uint i) { return ((device const uint*)p)[i]; }
kernel void k(device const float* in [[buffer(0)]], device const uint* words [[buffer(1)]], device float* out [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    half4 h = (half4)float4(in[gid]);
    device const void* p = in;
    device const float* same = (device const float*)p;
    device const uchar* bytes = (device const uchar*)in;
    out[gid] = Complex(in[gid]).squared().squared().real() + float(h.x) + same[gid] + float(bytes[gid]) + float(word(words, gid));
}
