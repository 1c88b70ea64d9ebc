#pragma once
// How elements lie in memory: as they are, or as 16 bits that are widened to `float` and rounded once.
#include "elements.h"

// type: in memory; real: calculated with; exact: memory holds every value.
template <typename T> struct Same {
    typedef T type;
    typedef T real;
    enum { exact = 1 };
    static inline T value(T x) { return x; }
    static inline T bits(T x) { return x; }
};
// Two types even where `wide` is `float`: each kernel is instantiated once.
struct Single : Same<float> {};
struct Double : Same<wide> {};

// IEEE binary16.
struct Half {
    typedef ushort type;
    typedef float real;
    enum { exact = 0 };
#if defined(MSL_HOST) && defined(__x86_64__) && !defined(__F16C__)
    // Processors without conversions; the same as `src/host/half/convert.rs`.
    static inline float value(ushort b) {
        uint m = (uint(b) & 0x7fffu) << 13, x = as_type<uint>(as_type<float>(m) * 5.192296858534828e+33f);
        return as_type<float>(x | (m >= 0x0f800000u ? 0x7f800000u : 0u) | (uint(b) & 0x8000u) << 16);
    }
    static inline ushort bits(float v) {
        uint b = as_type<uint>(v), m = b & 0x7fffffffu;
        uint normal = (m + 0xc8000fffu + ((m >> 13) & 1u)) >> 13;
        uint small = as_type<uint>(as_type<float>(m) + 0.5f) - 0x3f000000u;
        uint r = m < 0x38800000u ? small : m > 0x7f800000u ? 0x7e00u : m >= 0x47800000u ? 0x7c00u : normal;
        return ushort(r | ((b >> 16) & 0x8000u));
    }
#else
    static inline float value(ushort b) { return float(as_type<half>(b)); }
    static inline ushort bits(float v) { return as_type<ushort>(half(v)); }
#endif
};

// The upper half of a binary32.
struct Brain {
    typedef ushort type;
    typedef float real;
    enum { exact = 0 };
    static inline float value(ushort b) { return as_type<float>(uint(b) << 16); }
    static inline ushort bits(float v) {
        uint b = as_type<uint>(v);
        if ((b & 0x7fffffffu) > 0x7f800000u) return ushort(b >> 16 | 0x40u);
        return ushort((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
    }
};
