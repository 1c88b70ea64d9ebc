// Geometry, matrices and packed vectors.
#include <metal_stdlib>
using namespace metal;

// The n-th of some small numbers.
float number(device const uint* in, uint n) { return as_type<float>(in[n]); }

template <class T> void geometry(device const uint* in, device uint* out) {
    typedef vec<T, 3> V;
    V a = vec<T, 3>(number(in, 0), number(in, 1), number(in, 2)), b = vec<T, 3>(number(in, 3), number(in, 4), number(in, 5));
    V n = normalize(b), c = cross(a, b), f = faceforward(n, a, b), r = reflect(a, n), t = refract(normalize(a), n, T(0.5f));
    T s[] = {dot(a, b), length(a), length_squared(a), distance(a, b), distance_squared(a, b)};
    for (uint i = 0; i < 5; i++) out[i] = as_type<uint>(float(s[i]));
    for (uint i = 0; i < 3; i++) {
        out[5 + i] = as_type<uint>(float(n[i]));
        out[8 + i] = as_type<uint>(float(c[i]));
        out[11 + i] = as_type<uint>(float(f[i]));
        out[14 + i] = as_type<uint>(float(r[i]));
        out[17 + i] = as_type<uint>(float(t[i]));
    }
}
kernel void geometry_float(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                           uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    geometry<float>(in + 6 * gid, out + 20 * gid);
}
kernel void geometry_half(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                          uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    geometry<half>(in + 6 * gid, out + 20 * gid);
}

template <class T> vec<T, 3> first3(vec<T, 4> v) { return vec<T, 3>(v.x, v.y, v.z); }
// 16 numbers as a matrix, its products with another, with vectors and numbers.
template <class T> void matrices(device const uint* in, device uint* out) {
    typedef vec<T, 4> V;
    V c[4];
    for (uint i = 0; i < 16; i++) c[i / 4][i % 4] = T(number(in, i));
    matrix<T, 4, 4> m = matrix<T, 4, 4>(c[0], c[1], c[2], c[3]), d = matrix<T, 4, 4>(T(2.0f));
    m[1][2] += T(1.0f);
    matrix<T, 4, 4> p = (m * transpose(m) + d - m * T(0.5f)) * d;
    V v = p * c[0], w = c[1] * p;
    for (uint i = 0; i < 4; i++) {
        out[i] = as_type<uint>(float(v[i]));
        out[4 + i] = as_type<uint>(float(w[i]));
    }
    matrix<T, 2, 2> two = matrix<T, 2, 2>(c[0][0], c[0][1], c[0][2], c[0][3]);
    matrix<T, 3, 3> three = matrix<T, 3, 3>(first3(c[0]), first3(c[1]), first3(c[2]));
    out[8] = as_type<uint>(float(determinant(two)));
    out[9] = as_type<uint>(float(determinant(three)));
    out[10] = as_type<uint>(float(determinant(m)));
    matrix<T, 2, 3> tall = matrix<T, 2, 3>(first3(c[0]), first3(c[1]));
    matrix<T, 2, 2> square = transpose(tall) * tall;
    out[11] = as_type<uint>(float(square[1][0]));
    out[12] = as_type<uint>(float((-square * T(3.0f))[0][1]));
    out[13] = all(square[0] == two[0]) ? 1 : 0;
}
kernel void matrices_float(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                           uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    float4x4 unit = float4x4(1.0f);
    float3x3 part = float3x3(first3(unit[0]), first3(unit[1]), first3(unit[2]));
    half2x3 other = half2x3(1, 2, 3, 4, 5, 6);
    matrices<float>(in + 16 * gid, out + 15 * gid);
    out[15 * gid + 14] = uint(determinant(unit) + part[2][2] + float(other[1].x)) + sizeof(float3x3) + sizeof(half2x2);
}
kernel void matrices_half(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                          uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    matrices<half>(in + 16 * gid, out + 15 * gid);
}

// Values of these are known before any kernel runs.
constant float4x4 kMatrix = float4x4(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
constant float2x2 kColumns[2] = {float2x2(2.0f), float2x2(float2(1, 2), float2(4.0f))};
constant packed_float3 kPacked[2] = {packed_float3(1, 2, 3), packed_float3(4, 5, 6)};
constant half4 kVector[2] = {half4(1.5h), half4(1, 2, 3, 4)};
kernel void constants(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                      uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    uint i = in[gid];
    array<uint, 4> results, all;
    results[0] = uint(kMatrix[i][(i + 1) % 4]);
    results[1] = uint(kColumns[i % 2][i / 2][0]);
    results[2] = uint(kPacked[i % 2][i % 3]);
    results[3] = uint(2.0h * kVector[i % 2][i]);
    all = results;
    for (uint k = 0; k < all.size(); k++) out[4 * gid + k] = all[k];
}

struct Particle {
    packed_float3 place;
    packed_uchar4 colour;
    packed_half2 size;
};
// 5 words a particle.
kernel void packed(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                   uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    device const Particle* from = (device const Particle*)in;
    device Particle* to = (device Particle*)out;
    Particle p = from[gid];
    float3 v = p.place;
    p.place = v * 2.0f + p.place;
    p.place += packed_float3(1.0f, 2.0f, 3.0f);
    p.place[1] = -p.place.y;
    uchar4 c = p.colour;
    p.colour = packed_uchar4(c.w, c.z, c.y, p.colour.x);
    half2 s = half2(p.size) * p.size;
    p.size = packed_half2(s + half2(1));
    p.size.y = half(sizeof(Particle) + sizeof(packed_short3) + alignof(packed_float4));
    to[gid] = p;
}
