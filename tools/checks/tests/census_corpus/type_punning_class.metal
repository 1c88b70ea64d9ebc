// expect: type-punning 9
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
struct Place {
    float x, y;
};
kernel void k(device Place* places [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = *(device uint*)&places[gid];
}
