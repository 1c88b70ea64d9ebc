// expect: threadgroup-class 9
#include <metal_stdlib>
using namespace metal;
struct Fp {
    uint v; Fp() = default;
    constexpr explicit Fp(uint x) : v(x) {}
};
template <typename T> inline void sum(device T* p, uint tid) {
    threadgroup T* never = 0; threadgroup T tile[8];
    never = tile;
    p[tid] = never[0];
}
kernel void f(device Fp* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]]) { sum(out, tid); }
