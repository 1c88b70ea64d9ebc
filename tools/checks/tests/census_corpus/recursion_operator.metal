// expect: recursion 9
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
struct Big {
    uint v;
    Big operator*(Big other) const {
        if (other.v == 0u) return Big{1u};
        return *this * Big{other.v - 1u};
    }
};
kernel void k(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = (Big{gid} * Big{3u}).v;
}
