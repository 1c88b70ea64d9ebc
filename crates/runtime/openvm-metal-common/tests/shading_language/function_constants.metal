#include <metal_stdlib>
using namespace metal;
constant uint ADD [[function_constant(0)]];
constant bool NEGATE [[function_constant(1)]];
constant uint2 PAIR [[function_constant(2)]];
constant float SCALE [[function_constant(3)]];
constant uint ABSENT [[function_constant(4)]];
constant uint absent = is_function_constant_defined(ABSENT) ? ABSENT : 7;
constant bool BOTH = NEGATE && is_function_constant_defined(ADD);

// Reads a word and writes four that depend on the constants.
kernel void constants(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                      uint gid [[thread_position_in_grid]]) {
    uint v = in[gid];
    out[4 * gid] = v + ADD + absent;
    out[4 * gid + 1] = BOTH ? -v : v;
    out[4 * gid + 2] = v * PAIR.x + PAIR.y;
    out[4 * gid + 3] = as_type<uint>(float(v & 0xffff) * SCALE);
}

// Casts between vectors: values, never bits. Reads two words, writes eight.
kernel void casts(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                  uint gid [[thread_position_in_grid]]) {
    uint2 v = uint2(in[2 * gid] & 0x7ff, in[2 * gid + 1] & 0x7ff);
    float2 f = (float2)v;
    half2 h = (half2)f * (half)2.0h;
    int2 i = (int2)-f;
    uint2 w = (uint2)(half2)v;
    device uint* o = out + 8 * gid;
    o[0] = as_type<uint>(f.x);
    o[1] = as_type<uint>(f.y);
    o[2] = (uint)h.x;
    o[3] = (uint)h.y;
    o[4] = (uint)i.x;
    o[5] = (uint)i.y;
    o[6] = w.x;
    o[7] = static_cast<uint>(static_cast<half>(w.y));
}
