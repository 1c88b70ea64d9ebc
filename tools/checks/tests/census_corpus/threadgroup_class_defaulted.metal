// expect: threadgroup-class 9
#include <metal_stdlib>
using namespace metal;
struct Fp {
    uint v;
    Fp() = default;
    constexpr explicit Fp(uint x) : v(x) {}
}; kernel void f(device Fp* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]]) {
    threadgroup Fp tile[256];
    tile[tid] = out[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[tid] = tile[tid ^ 1u];
}
