// Packing and unpacking of normalised numbers (chapter 6.13); the first element is in the lowest bits.
#pragma once
namespace metal {
// `v` times the greatest number of BITS bits, rounded to the nearest; what is beyond -1 (or 0) and 1 counts as that.
template <bool SIGNED> MSL_INL uint msl_norm(float v, uint bits) {
    const float low = SIGNED ? -1.0f : 0.0f, most = float((1u << (bits - SIGNED)) - 1u);
    v = v > low ? v : v == v ? low : 0.0f; // NaN gives 0
    return uint(int(__builtin_rintf((v < 1.0f ? v : 1.0f) * most))) & ((1u << bits) - 1u);
}
template <bool SIGNED> MSL_INL float msl_denorm(uint x, uint bits) {
    if (!SIGNED) return float(x) / float((1u << bits) - 1u);
    float r = float(int(x << (32 - bits)) >> (32 - bits)) / float((1u << (bits - 1)) - 1u);
    return r > -1.0f ? r : -1.0f;
}
template <bool SIGNED, class T, int N> MSL_INL uint msl_pack(vec<T, N> v) {
    uint r = 0;
    for (uint i = 0; i < N; i++) r |= msl_norm<SIGNED>(float(v[i]), 32 / N) << (32 / N * i);
    return r;
}
template <bool SIGNED, class T, int N> MSL_INL vec<T, N> msl_unpack(uint x) {
    vec<T, N> r;
    for (uint i = 0; i < N; i++) r[i] = T(msl_denorm<SIGNED>(x >> (32 / N * i) & ((1u << (32 / N)) - 1u), 32 / N));
    return r;
}
#define MSL_PACK(T) \
    MSL_INL uint pack_##T##_to_unorm4x8(vec<T, 4> v) { return msl_pack<false>(v); } \
    MSL_INL uint pack_##T##_to_snorm4x8(vec<T, 4> v) { return msl_pack<true>(v); } \
    MSL_INL uint pack_##T##_to_unorm2x16(vec<T, 2> v) { return msl_pack<false>(v); } \
    MSL_INL uint pack_##T##_to_snorm2x16(vec<T, 2> v) { return msl_pack<true>(v); } \
    MSL_INL uint pack_##T##_to_srgb_unorm4x8(vec<T, 4> v) { return msl_pack<false>(msl_to_srgb(v)); } \
    MSL_INL uint pack_##T##_to_unorm10a2(vec<T, 4> v) { return msl_pack_10a2(v); } \
    MSL_INL vec<T, 4> unpack_unorm4x8_to_##T(uint x) { return msl_unpack<false, T, 4>(x); } \
    MSL_INL vec<T, 4> unpack_snorm4x8_to_##T(uint x) { return msl_unpack<true, T, 4>(x); } \
    MSL_INL vec<T, 2> unpack_unorm2x16_to_##T(uint x) { return msl_unpack<false, T, 2>(x); } \
    MSL_INL vec<T, 2> unpack_snorm2x16_to_##T(uint x) { return msl_unpack<true, T, 2>(x); } \
    MSL_INL vec<T, 4> unpack_unorm4x8_srgb_to_##T(uint x) { return msl_from_srgb<T>(msl_unpack<false, float, 4>(x)); } \
    MSL_INL vec<T, 4> unpack_unorm10a2_to_##T(uint x) { return msl_unpack_10a2<T>(x); }
template <class T> MSL_INL uint msl_pack_10a2(vec<T, 4> v) {
    return msl_norm<false>(v[0], 10) | msl_norm<false>(v[1], 10) << 10 | msl_norm<false>(v[2], 10) << 20 | msl_norm<false>(v[3], 2) << 30;
}
template <class T> MSL_INL vec<T, 4> msl_unpack_10a2(uint x) {
    vec<T, 4> r;
    for (uint i = 0; i < 3; i++) r[i] = T(msl_denorm<false>(x >> 10 * i & 1023u, 10));
    r[3] = T(msl_denorm<false>(x >> 30, 2));
    return r;
}
// Colours as sRGB has them; the fourth element stays.
template <class T> MSL_INL vec<float, 4> msl_to_srgb(vec<T, 4> v) {
    vec<float, 4> r;
    for (int i = 0; i < 3; i++) {
        float c = v[i];
        c = c > 0.0f ? c < 1.0f ? c : 1.0f : 0.0f;
        r[i] = c < 0.0031308f ? 12.92f * c : 1.055f * pow(c, 1.0f / 2.4f) - 0.055f;
    }
    r[3] = v[3];
    return r;
}
template <class T> MSL_INL vec<T, 4> msl_from_srgb(vec<float, 4> v) {
    vec<T, 4> r;
    for (int i = 0; i < 3; i++) r[i] = T(v[i] <= 0.04045f ? v[i] / 12.92f : pow((v[i] + 0.055f) / 1.055f, 2.4f));
    r[3] = T(v[3]);
    return r;
}
MSL_PACK(float) MSL_PACK(half)
#undef MSL_PACK
}  // namespace metal
