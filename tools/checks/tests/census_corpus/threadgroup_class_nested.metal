// expect: threadgroup-class 12
#include <metal_stdlib>
using namespace metal;
template <typename T> struct FpT {
    T v;
    FpT() = default;
    constexpr explicit FpT(T x) : v(x) {}
};
template <typename T> struct FpExtT { FpT<T> c[4]; };
typedef FpExtT<uint> FpExt;
kernel void f(device FpExt* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]]) {
    threadgroup FpExt scratch[64];
    scratch[tid] = out[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[tid] = scratch[tid ^ 1u];
}
