// expect: virtual 5
#include <metal_stdlib>
using namespace metal;
struct Shape {
    virtual uint area() const = 0;
};
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = n;
}
