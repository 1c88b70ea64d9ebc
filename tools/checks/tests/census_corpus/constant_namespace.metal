// expect: constant-initialiser 6
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
namespace sizes {
constant uint LARGEST = max(3u, 4u);
}
kernel void k(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = sizes::LARGEST;
}
