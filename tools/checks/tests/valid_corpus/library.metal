// What files that draw, filter and simulate use of the library: mixed arguments, matrices, packed vectors, constants.
#include <metal_stdlib>
#include <metal_matrix>
using namespace metal;
#pragma METAL fp contract(off)

constant float3x3 kWeights = float3x3(float3(1, 2, 3), float3(4, 5, 6), float3(7, 8, 9));
constant float4 kTint = float4(1, 2, 3, 4);
constant packed_float3 kOrigin = packed_float3(1, 2, 3);
constant float2x2 kTurns[2] = {float2x2(1, 2, 3, 4), float2x2(1.0f)};

struct Scene {
    float4x4 view;
    packed_float3 eye;
    float scale;
};

inline float3 tone(float3 c) { return saturate((c * (2.51f * c + 0.03f)) / (c * (2.43f * c + 0.59f) + 0.14f)); }

kernel void library(device float4* out [[buffer(0)]], constant Scene& scene [[buffer(1)]],
                    device const packed_float3* places [[buffer(2)]], device packed_float3* moved [[buffer(3)]],
                    uint gid [[thread_position_in_grid]]) {
    float4 v = scene.view * float4(places[gid], 1.0f);
    float3 n = normalize(float3(places[gid]) - scene.eye);
    float3 w = kWeights * n + kOrigin;
    v = select(v, float4(0), v > 0.0f);
    v = mix(v, kTint, 0.5f) + float4(kTurns[1] * v.xy, 0, 0);
    v = clamp(v, 0.0f, 1.0f);
    v.xyz = tone(v.xyz) + w;
    v = pow(v, 2.2f) + step(0.5f, v) + smoothstep(0.0f, 1.0f, v) + max3(v, v, kTint);
    half3 h = half3(v.xyz) * 0.5h;
    v.xyz += float3(h) + length(scene.eye) + distance(scene.eye, n) + dot(n, scene.eye);
    int exponent;
    float part = frexp(v.x, exponent) + nextafter(v.y, 2.0f) + sinpi(v.z);
    if (all(v.xy == float2(0)) || any(isnan(v))) v = float4(part);
    moved[gid] = places[gid] * 2.0f + n;
    out[gid] = v * transpose(scene.view) + unpack_unorm4x8_to_float(pack_float_to_snorm4x8(v)) + float4(exponent) + M_PI_F;
}
