// expect: recursion 6
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
template <class T> T down(T n) {
    return n == T(0) ? n : down<T>(n - T(1));
}
kernel void k(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = down<uint>(gid);
}
