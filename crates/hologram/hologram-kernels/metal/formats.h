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
struct Single {
    typedef float type;
    typedef float real;
    enum { exact = 1 };
    static inline float value(float x) { return x; }
    static inline float bits(float x) { return x; }
};
struct Double {
    typedef wide type;
    typedef wide real;
    enum { exact = 1 };
    static inline wide value(wide x) { return x; }
    static inline wide bits(wide x) { return x; }
};

// IEEE binary16.
struct Half {
    typedef ushort type;
    typedef float real;
    enum { exact = 0 };
    static inline float value(ushort b) { return float(as_type<half>(b)); }
    static inline ushort bits(float v) { return as_type<ushort>(half(v)); }
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
