#pragma once
// Element types, 16-byte packs of them, and arithmetic that is the same for all.
#include <metal_stdlib>
#include <lanes.h>
using namespace metal;
#pragma METAL fp contract(off)

// Floats of 64 bits on processors and NVIDIA GPUs; Apple GPUs have none, there it is `float` and never used.
#define HAVE_WIDE (MSL_HOST || MSL_PTX)
#if HAVE_WIDE
typedef double wide;
#else
typedef float wide;
#endif

// Type in which sums and products wrap: unsigned of at least 32 bits, floats themselves.
template <typename T> struct raw_type { typedef T type; };
template <> struct raw_type<char> { typedef uint type; };
template <> struct raw_type<uchar> { typedef uint type; };
template <> struct raw_type<short> { typedef uint type; };
template <> struct raw_type<ushort> { typedef uint type; };
template <> struct raw_type<int> { typedef uint type; };
template <> struct raw_type<long> { typedef ulong type; };

template <typename T> inline T wrap_add(T a, T b) {
    typedef typename raw_type<T>::type R;
    return T(R(a) + R(b));
}
template <typename T> inline T wrap_sub(T a, T b) {
    typedef typename raw_type<T>::type R;
    return T(R(a) - R(b));
}
template <typename T> inline T wrap_mul(T a, T b) {
    typedef typename raw_type<T>::type R;
    return T(R(a) * R(b));
}
// A NaN yields the other operand, equal operands the first.
template <typename T> inline T smaller(T a, T b) { return a != a || b < a ? b : a; }
template <typename T> inline T larger(T a, T b) { return a != a || b > a ? b : a; }

// The value in the low bits.
template <typename T> struct low_bits {
    static inline T value(ulong bits) { return T(bits); }
};
template <> struct low_bits<float> {
    static inline float value(ulong bits) { return as_type<float>(uint(bits)); }
};
#if HAVE_WIDE
template <> struct low_bits<wide> {
    static inline wide value(ulong bits) { return as_type<wide>(bits); }
};
#endif

inline float real_fma(float a, float b, float c) { return fma(a, b, c); }
#if HAVE_WIDE
inline wide real_fma(wide a, wide b, wide c) { return __builtin_fma(a, b, c); }
#endif

// Elements of size S in 16 bytes that move as four words, so that no compiler cuts the access up.
template <typename T, uint S> struct Words;
template <typename T> struct Words<T, 1> {
    static inline T get(uint4 w, uint j) { return as_type<T>(uchar(w[j / 4] >> (j % 4 * 8))); }
    static inline uint bits(T v, uint j) { return uint(as_type<uchar>(v)) << (j % 4 * 8); }
};
template <typename T> struct Words<T, 2> {
    static inline T get(uint4 w, uint j) { return as_type<T>(ushort(w[j / 2] >> (j % 2 * 16))); }
    static inline uint bits(T v, uint j) { return uint(as_type<ushort>(v)) << (j % 2 * 16); }
};
template <typename T> struct Words<T, 4> {
    static inline T get(uint4 w, uint j) { return as_type<T>(w[j]); }
    static inline uint bits(T v, uint) { return as_type<uint>(v); }
};
template <typename T> struct Words<T, 8> {
    static inline T get(uint4 w, uint j) { return as_type<T>(ulong(w[2 * j]) | ulong(w[2 * j + 1]) << 32); }
};

// What a thread reads and writes at once.
template <typename T> struct alignas(16) Pack {
    T v[16 / sizeof(T)];
};

template <typename T> inline Pack<T> read_pack(device const T* src) {
    uint4 w = *(device const uint4*)src;
    Pack<T> x;
    MSL_UNROLL for (uint j = 0; j < 16 / sizeof(T); j++) x.v[j] = Words<T, sizeof(T)>::get(w, j);
    return x;
}

template <typename T, uint S> struct PackWords {
    static inline uint4 of(Pack<T> x) {
        uint w[4] = {0u, 0u, 0u, 0u};
        MSL_UNROLL for (uint j = 0; j < 16 / S; j++) w[j * S / 4] |= Words<T, S>::bits(x.v[j], j);
        return uint4(w[0], w[1], w[2], w[3]);
    }
};
template <typename T> struct PackWords<T, 8> {
    static inline uint4 of(Pack<T> x) {
        ulong a = as_type<ulong>(x.v[0]), b = as_type<ulong>(x.v[1]);
        return uint4(uint(a), uint(a >> 32), uint(b), uint(b >> 32));
    }
};

template <typename T> inline void write_pack(device T* dst, Pack<T> x) {
    *(device uint4*)dst = PackWords<T, sizeof(T)>::of(x);
}

// The pack that begins at element `at`, filled up with `fill` past `count`.
template <typename T>
inline Pack<T> load_pack(device const T* src, ulong at, ulong count, bool aligned, T fill) {
    constexpr uint n = 16 / sizeof(T);
    if (aligned && at + n <= count) return read_pack(src + at);
    Pack<T> x;
    MSL_UNROLL for (uint j = 0; j < n; j++) x.v[j] = at + j < count ? src[at + j] : fill;
    return x;
}

// Writes the pack that begins at element `at`, up to `count`.
template <typename T>
inline void store_pack(device T* dst, ulong at, ulong count, bool aligned, Pack<T> x) {
    constexpr uint n = 16 / sizeof(T);
    if (aligned && at + n <= count) {
        write_pack(dst + at, x);
        return;
    }
    MSL_UNROLL for (uint j = 0; j < n; j++) if (at + j < count) dst[at + j] = x.v[j];
}
