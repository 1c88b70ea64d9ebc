#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
// Constants, vectors of bool, and pointers whose spaces are all named.
constexpr uint doubled(uint x) { return 2u * x; }
constant uint SIZES[2] = {1u, doubled(1u)};
constant float4 WEIGHTS = float4(1.0f, 2.0f, 3.0f, FLT_MAX);
constant float LEAST = 1.17549435e-38f;
static float first(device float* thread* rows) { return rows[0][0]; }

kernel void values(device float* data [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float4 a = WEIGHTS * LEAST;
    int4 b = int4(int(gid));
    int4 c = select(b, int4(3), b < int4(3));
    device float* row = gid > 3u ? data : data + 1;
    device float* rows[2] = {row, data};
    data[gid] = first(&rows[0]) + a.x + float(c.x) + float(SIZES[gid & 1u] << 31u);
    if (all(b < int4(3)) || any(b == c)) data[gid] = 0.0f;
}
