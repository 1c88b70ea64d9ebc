// expect: virtual 5
#include <metal_stdlib>
using namespace metal;
struct A {
    virtual uint f() const { return 1; }
};
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = 1;
}
