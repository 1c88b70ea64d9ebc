// expect: base-class 5
#include <metal_stdlib>
using namespace metal;
struct Point { float x; float y; };
struct Weighted : public Point { float weight; };
kernel void f(device float* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    Weighted w;
    w.x = out[gid];
    w.weight = 2.0f;
    out[gid] = w.x * w.weight;
}
