// expect: census 4
#include <metal_stdlib>
using namespace metal;
template <typename U> struct alignas(16) alignas(alignof(U)) Cell {
    U v[4];
};
kernel void f(device Cell<uint>* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) { out[gid].v[0] = gid; }
