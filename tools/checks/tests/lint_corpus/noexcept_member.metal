// expect: noexcept 6
#include <metal_stdlib>
using namespace metal;
struct Pair {
    uint a, b;
    uint sum() const noexcept { return a + b; }
};
kernel void k(device uint* out [[buffer(0)]], constant Pair& p [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= p.a) return;
    out[gid] = p.sum();
}
