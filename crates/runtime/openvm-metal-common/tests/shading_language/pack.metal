// Packing, unpacking and constants.
#include <metal_stdlib>
using namespace metal;

kernel void pack(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                 uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    float4 v = float4(as_type<float>(in[4 * gid]), as_type<float>(in[4 * gid + 1]), as_type<float>(in[4 * gid + 2]), as_type<float>(in[4 * gid + 3]));
    half4 h = half4(v);
    device uint* o = out + 10 * gid;
    o[0] = pack_float_to_unorm4x8(v);
    o[1] = pack_float_to_snorm4x8(v);
    o[2] = pack_float_to_unorm2x16(float2(v.x, v.y));
    o[3] = pack_float_to_snorm2x16(float2(v.z, v.w));
    o[4] = pack_float_to_unorm10a2(v);
    o[5] = pack_float_to_srgb_unorm4x8(v);
    o[6] = pack_half_to_unorm4x8(h);
    o[7] = pack_half_to_snorm4x8(h);
    o[8] = pack_half_to_unorm2x16(half2(h.x, h.y));
    o[9] = pack_half_to_unorm10a2(h);
}

struct Writer {
    device uint* out;
    template <class V> void put(V v, uint n) { for (uint i = 0; i < n; i++) *out++ = as_type<uint>(float(v[i])); }
};
kernel void unpack(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                   uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    uint x = in[gid];
    Writer w = {out + 34 * gid};
    w.put(unpack_unorm4x8_to_float(x), 4);
    w.put(unpack_snorm4x8_to_float(x), 4);
    w.put(unpack_unorm2x16_to_float(x), 2);
    w.put(unpack_snorm2x16_to_float(x), 2);
    w.put(unpack_unorm10a2_to_float(x), 4);
    w.put(unpack_unorm4x8_srgb_to_float(x), 4);
    w.put(unpack_unorm4x8_to_half(x), 4);
    w.put(unpack_snorm4x8_to_half(x), 4);
    w.put(unpack_snorm2x16_to_half(x), 2);
    w.put(unpack_unorm10a2_to_half(x), 4);
}

kernel void constants(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                      uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    const metal::int32_t integers[] = {CHAR_BIT, CHAR_MAX, CHAR_MIN, SCHAR_MAX, SCHAR_MIN, UCHAR_MAX, SHRT_MAX, SHRT_MIN, USHRT_MAX, INT_MAX, INT_MIN,
        FLT_DIG, FLT_MANT_DIG, FLT_RADIX, FLT_MAX_EXP, FLT_MIN_EXP, HALF_MANT_DIG, int(UINT_MAX), int(LONG_MAX >> 32), int(LONG_MIN >> 32), int(ULONG_MAX >> 32)};
    for (uint i = 0; i < 21; i++) out[i] = uint(integers[i]);
    const float floats[] = {MAXFLOAT, FLT_MAX, FLT_MIN, FLT_EPSILON, HUGE_VALF, INFINITY, M_E_F, M_LOG2E_F, M_LOG10E_F, M_LN2_F, M_LN10_F, M_PI_F, M_PI_2_F,
        M_PI_4_F, M_1_PI_F, M_2_PI_F, M_2_SQRTPI_F, M_SQRT2_F, M_SQRT1_2_F, float(HALF_MAX), float(HALF_MIN), float(HALF_EPSILON), float(MAXHALF),
        float(M_PI_H), float(M_E_H), float(0.5h + 1.25h)};
    for (uint i = 0; i < 26; i++) out[21 + i] = as_type<uint>(floats[i]);
}
