// expect: literal-suffix 7
// The form of commit/message.h before the rule.
#include <metal_stdlib>
using namespace metal;
kernel void k(device ulong* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = (1ull << n) - 1ul;
}
