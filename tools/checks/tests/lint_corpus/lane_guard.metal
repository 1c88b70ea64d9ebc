// expect: lane-guard 6
#include <metal_stdlib>
using namespace metal;
#include <lanes.h>
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], gid_l gid [[thread_position_in_grid]]) {
    if (gid >= n || n == 0) return;
    lane_store(out, gid, uint_l(1));
}
