// expect: threadgroup-class 6
#include <metal_stdlib>
using namespace metal;
struct Tile { float4x4 m; };
kernel void f(device float4* out [[buffer(0)]], uint tid [[thread_index_in_threadgroup]]) {
    threadgroup Tile tiles[4];
    tiles[tid].m[0] = out[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[tid] = tiles[tid ^ 1u].m[0];
}
