// Keywords, scalar and vector types.
#pragma once
#ifdef __clang__
#pragma clang diagnostic ignored "-Wunknown-attributes"
#pragma clang diagnostic ignored "-Wduplicate-decl-specifier"
#define MSL_UNROLL _Pragma("clang loop unroll(full)")
#define MSL_ROLLED _Pragma("clang loop unroll(disable)")
#else
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#define MSL_UNROLL _Pragma("GCC unroll 64")
#define MSL_ROLLED _Pragma("GCC unroll 1")
#endif
#define MSL_LARGE
#define device
#define constant const
#define thread
#define threadgroup
#define threadgroup_imageblock
#define ray_data
#define object_data
#define METAL_FUNC MSL_INL
#define METAL_CONST static constexpr const
#define METAL_INTERNAL MSL_INL

typedef uint8_t uchar;
typedef uint16_t ushort;
typedef uint32_t uint;
typedef unsigned long ulong;
#if defined(__clang__) && !defined(__FLT16_MANT_DIG__)
typedef __fp16 half; // clang 17 and 18 for NVIDIA GPUs
#else
typedef _Float16 half;
#endif
#ifdef __clang__
typedef __bf16 bfloat;
#endif

template <class T> struct msl_same { typedef T type; };
#define MSL_NUMBERS(X) X(char) X(uchar) X(short) X(ushort) X(int) X(uint) X(long) X(ulong) X(half) X(float)

#ifdef __clang__
namespace metal {
template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));
}
#define MSL_VEC(T) \
    typedef T T##2 __attribute__((ext_vector_type(2))); \
    typedef T T##3 __attribute__((ext_vector_type(3))); \
    typedef T T##4 __attribute__((ext_vector_type(4)));
MSL_NUMBERS(MSL_VEC)
MSL_VEC(bfloat)
template <class V> struct msl_vec_info;
template <class T, int N> struct msl_vec_info<T __attribute__((ext_vector_type(N)))> {
    typedef T elem;
    static constexpr int size = N;
};
#else
#include "msl_vector_gcc.h"
#endif
#undef MSL_VEC
typedef float float1;
typedef uint uint1;
typedef int int1;

// `float4(a, b, c, d)`, `float4(xy, z, w)`, `uint4(float4)`: the front end writes msl_make<float4>(...).
template <class T> struct msl_count { static constexpr int value = 1; };
#ifdef __clang__
template <class T, int N> struct msl_count<T __attribute__((ext_vector_type(N)))> { static constexpr int value = N; };
template <class V, class A> MSL_INL void msl_put(V& r, int& at, A a) {
    typedef typename msl_vec_info<V>::elem E;
    if constexpr (msl_count<A>::value == 1) r[at++] = (E)a;
    else for (int i = 0; i < msl_count<A>::value; i++) r[at++] = (E)a[i];
}
template <class V, class... A> MSL_INL constexpr V msl_make(A... a) {
    if constexpr (msl_count<V>::value == 1) {
        return V(a...);
    } else if constexpr (sizeof...(A) == 0) {
        return V{};
    } else {
        typedef typename msl_vec_info<V>::elem E;
        // Constants at namespace scope: GPUs have nothing that would run before kernels.
        if constexpr (sizeof...(A) == msl_count<V>::value && (msl_count<A>::value + ...) == sizeof...(A)) {
            if (__builtin_is_constant_evaluated()) return V{(E)a...};
        } else if constexpr (sizeof...(A) == 1 && (msl_count<A>::value + ...) == 1) {
            if (__builtin_is_constant_evaluated()) return (V)(E(a), ...);
        }
        V r{};
        if constexpr (sizeof...(A) == 1 && (msl_count<A>::value + ...) == 1) {
            (..., (r = (V)(E)a));
        } else {
            int at = 0;
            (..., msl_put(r, at, a));
        }
        return r;
    }
}
#else
template <class T, int N> struct msl_count<metal::vec<T, N>> { static constexpr int value = N; };
template <class V, class... A> MSL_INL V msl_make(A... a) { return V(a...); }
#endif

template <class T, class U> MSL_INL T msl_as_type(U u) {
    static_assert(sizeof(T) == sizeof(U), "as_type needs types of equal size");
    T t;
    __builtin_memcpy(&t, &u, sizeof(T));
    return t;
}
#define as_type msl_as_type
// `0.5h`
MSL_INL constexpr half operator""h(long double x) { return (half)x; }
MSL_INL constexpr half operator""h(unsigned long long x) { return (half)x; }
