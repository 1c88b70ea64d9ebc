// expect: constant-table-pointer 8
#include <metal_stdlib>
using namespace metal;
constant uint TABLE[4] = {1, 2, 3, 4};
inline uint get(constant const uint* t, uint i) { return t[i]; }
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = get(TABLE, gid & 3);
}
