// expect: rtti 7
#include <metal_stdlib>
using namespace metal;
struct A { uint v; };
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    bool same = typeid(n) == typeid(gid);
    out[gid] = same;
}
