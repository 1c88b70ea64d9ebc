// expect: base-class 8
#include <metal_stdlib>
using namespace metal;
template <typename T> struct Same {
    typedef T type;
    static inline T value(T x) { return x; }
};
struct Single : Same<float> {};
kernel void f(device float* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) { out[gid] = Single::value(out[gid]); }
