// expect: position-width 5
#include <metal_stdlib>
#include <lanes.h>
using namespace metal;
kernel void rows(device uint* out [[buffer(0)]], gid2_l gid [[thread_position_in_grid]], uint group [[threadgroup_position_in_grid]]) {
    lane_store(out, index_l(gid.x), to_vec(index_l(gid.x)));
    out[gid.y] = group;
}
