// High products and Montgomery products of vectors: even and odd lanes separately, 32 x 32 -> 64.
#pragma once

typedef ulong msl_wide __attribute__((vector_size(4 * MSL_LANES)));
template <class To, class From> MSL_INL To msl_bits(From f) { return (To)f; }

// Product of the even (low) 32-bit halves of each 64-bit lane.
MSL_INL msl_wide msl_mul_even(msl_wide a, msl_wide b) {
#if defined(__x86_64__) && !defined(__clang__) && MSL_LANES == 16
    return (msl_wide)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__x86_64__) && !defined(__clang__) && MSL_LANES == 8
    return (msl_wide)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__x86_64__) && !defined(__clang__) && MSL_LANES == 4
    return (msl_wide)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xfffffffful) * (b & 0xfffffffful);
#endif
}
// Keeps the compiler from turning the next product into a slow full 64-bit one.
MSL_INL void msl_opaque(msl_wide& x) {
#if defined(__x86_64__) && defined(__clang__)
    __asm__("" : "+v"(x));
#else
    (void)x;
#endif
}
// High halves of the even products interleaved with those of the odd products.
MSL_INL uint_l msl_high_halves(msl_wide even, msl_wide odd) {
    typedef uint_l::raw R;
    R e = (R)even, o = (R)odd;
#if MSL_LANES == 16
    return uint_l::of(__builtin_shufflevector(e, o, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31));
#elif MSL_LANES == 8
    return uint_l::of(__builtin_shufflevector(e, o, 1, 9, 3, 11, 5, 13, 7, 15));
#else
    return uint_l::of(__builtin_shufflevector(e, o, 1, 5, 3, 7));
#endif
}
MSL_INL uint_l mulhi(uint_l a, uint_l b) {
#if defined(__x86_64__)
    msl_wide x = (msl_wide)a.v, y = (msl_wide)b.v;
    return msl_high_halves(msl_mul_even(x, y), msl_mul_even(x >> 32, y >> 32));
#else
    typedef msl_raw<ulong>::type W;
    W w = __builtin_convertvector(a.v, W) * __builtin_convertvector(b.v, W);
    return uint_l::of(__builtin_convertvector(w >> 32, uint_l::raw));
#endif
}

// Montgomery product a b / 2^32 mod P for a prime P < 2^31, MU = P^-1 mod 2^32; a b < 2^32 P.
template <uint P, uint MU> MSL_INL uint_l lane_monty_mul(uint_l a, uint_l b) {
#if defined(__x86_64__)
    msl_wide x = (msl_wide)a.v, y = (msl_wide)b.v;
    const msl_wide mu = msl_wide{} + (ulong)MU, p = msl_wide{} + (ulong)P;
    msl_wide ce = msl_mul_even(x, y), co = msl_mul_even(x >> 32, y >> 32);
    msl_wide qe = msl_mul_even(ce, mu), qo = msl_mul_even(co, mu);
    msl_opaque(qe);
    msl_opaque(qo);
    uint_l r = msl_high_halves(ce, co) - msl_high_halves(msl_mul_even(qe, p), msl_mul_even(qo, p));
#else
    uint_l r = mulhi(a, b) - mulhi(a * b * uint_l(MU), uint_l(P));
#endif
    return min(r, r + uint_l(P));
}
template <uint P, uint MU> MSL_INL uint lane_monty_mul(uint a, uint b) {
    uint r = metal::mulhi(a, b) - metal::mulhi(a * b * MU, P);
    return metal::min(r, r + P);
}
