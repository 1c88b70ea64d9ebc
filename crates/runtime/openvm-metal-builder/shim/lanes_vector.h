// Lanes on a CPU: a value of lane type holds MSL_LANES threads, which run in lockstep.
#pragma once

#define LANE_GUARD(i, n)
#define LANE_LEADER(tid) true
// Sends this threadgroup to the scalar version of the kernel.
#define LANE_MULTIPLE(n) \
    if (__builtin_expect((n) % MSL_LANES != 0, 0)) { msl_lane_refused = true; return; }
static thread_local bool msl_lane_refused;

template <class T> struct msl_raw { typedef T type __attribute__((vector_size(sizeof(T) * MSL_LANES))); };
template <class T> struct lane_vec;

// One truth value per lane.
struct bool_l {
    typedef msl_raw<int>::type raw;
    raw m;
    bool_l() = default;
    MSL_INL bool_l(bool b) : m(raw{} - (int)b) {}
    static MSL_INL bool_l of(raw m) { bool_l r; r.m = m; return r; }
    friend MSL_INL bool_l operator&(bool_l a, bool_l b) { return of(a.m & b.m); }
    friend MSL_INL bool_l operator|(bool_l a, bool_l b) { return of(a.m | b.m); }
    friend MSL_INL bool_l operator^(bool_l a, bool_l b) { return of(a.m ^ b.m); }
    friend MSL_INL bool_l operator&&(bool_l a, bool_l b) { return of(a.m & b.m); }
    friend MSL_INL bool_l operator||(bool_l a, bool_l b) { return of(a.m | b.m); }
    friend MSL_INL bool_l operator!(bool_l a) { return of(~a.m); }
};

template <class T> struct lane_vec {
    typedef typename msl_raw<T>::type raw;
    raw v;
    lane_vec() = default;
    MSL_INL lane_vec(T s) : v(raw{} + s) {}
    template <class U> explicit MSL_INL lane_vec(lane_vec<U> o) : v(__builtin_convertvector(o.v, raw)) {}
    static MSL_INL lane_vec of(raw v) { lane_vec r; r.v = v; return r; }
    MSL_INL T operator[](uint k) const { return v[k]; }
    MSL_INL void set(uint k, T x) { v[k] = x; }
#define MSL_BIN(op) \
    friend MSL_INL lane_vec operator op(lane_vec a, lane_vec b) { return of(a.v op b.v); } \
    MSL_INL lane_vec& operator op##=(lane_vec b) { v = v op b.v; return *this; }
    MSL_BIN(+) MSL_BIN(-) MSL_BIN(*) MSL_BIN(/) MSL_BIN(%) MSL_BIN(&) MSL_BIN(|) MSL_BIN(^) MSL_BIN(<<) MSL_BIN(>>)
#undef MSL_BIN
#define MSL_CMP(op) \
    friend MSL_INL bool_l operator op(lane_vec a, lane_vec b) { \
        if constexpr (sizeof(T) == 4) return bool_l::of((bool_l::raw)(a.v op b.v)); \
        else return bool_l::of(__builtin_convertvector(a.v op b.v, bool_l::raw)); \
    }
    MSL_CMP(==) MSL_CMP(!=) MSL_CMP(<) MSL_CMP(<=) MSL_CMP(>) MSL_CMP(>=)
#undef MSL_CMP
    friend MSL_INL lane_vec operator-(lane_vec a) { return of(-a.v); }
    friend MSL_INL lane_vec operator~(lane_vec a) { return of(~a.v); }
    friend MSL_INL lane_vec select(lane_vec a, lane_vec b, bool_l c) {
        if constexpr (sizeof(T) == 4) return of(c.m ? b.v : a.v);
        else return of(__builtin_convertvector(c.m, typename msl_raw<long>::type) ? b.v : a.v);
    }
#ifdef __clang__
    friend MSL_INL lane_vec min(lane_vec a, lane_vec b) { return of(__builtin_elementwise_min(a.v, b.v)); }
    friend MSL_INL lane_vec max(lane_vec a, lane_vec b) { return of(__builtin_elementwise_max(a.v, b.v)); }
#else
    friend MSL_INL lane_vec min(lane_vec a, lane_vec b) { return of(a.v < b.v ? a.v : b.v); }
    friend MSL_INL lane_vec max(lane_vec a, lane_vec b) { return of(a.v > b.v ? a.v : b.v); }
#endif
    friend MSL_INL lane_vec clamp(lane_vec x, lane_vec a, lane_vec b) { return min(max(x, a), b); }
    friend MSL_INL lane_vec rotate(lane_vec x, lane_vec n) {
        const T bits = sizeof(T) * 8;
        return (x << (n & T(bits - 1))) | (x >> ((T(bits) - n) & T(bits - 1)));
    }
};

typedef lane_vec<uint> uint_l;
typedef lane_vec<int> int_l;
typedef lane_vec<ulong> ulong_l;
typedef lane_vec<float> float_l;

#define MSL_EACH(T, R, name, expr) \
    MSL_INL R name(T a) { R r; for (uint k = 0; k < MSL_LANES; k++) r.v[k] = expr; return r; }
MSL_EACH(uint_l, uint_l, popcount, __builtin_popcount(a.v[k]))
MSL_EACH(uint_l, uint_l, clz, metal::clz(a.v[k]))
MSL_EACH(uint_l, uint_l, ctz, metal::ctz(a.v[k]))
MSL_EACH(float_l, float_l, sqrt, __builtin_sqrtf(a.v[k]))
#undef MSL_EACH
MSL_INL uint_l reverse_bits(uint_l x) {
    x = ((x >> 1u) & 0x55555555u) | ((x & 0x55555555u) << 1u);
    x = ((x >> 2u) & 0x33333333u) | ((x & 0x33333333u) << 2u);
    x = ((x >> 4u) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4u);
    x = ((x >> 8u) & 0x00ff00ffu) | ((x & 0x00ff00ffu) << 8u);
    return (x >> 16u) | (x << 16u);
}
MSL_INL float_l fma(float_l a, float_l b, float_l c) {
    float_l r;
    for (uint k = 0; k < MSL_LANES; k++) r.v[k] = __builtin_fmaf(a.v[k], b.v[k], c.v[k]);
    return r;
}

#include "lanes_mul.h"
#include "lanes_mul52.h"
#include "lanes_memory.h"
#include "lanes_simd.h"
