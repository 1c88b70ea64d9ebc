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
// The odd words, in the low halves of their pairs; the high halves are of no matter.
MSL_INL msl_wide msl_odd_halves(msl_wide x) {
#if MSL_LANES == 8
    uint_l::raw w = (uint_l::raw)x;
    return (msl_wide)__builtin_shufflevector(w, w, 1, 1, 3, 3, 5, 5, 7, 7);
#else
    return x >> 32;
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
#if defined(__x86_64__) && MSL_LANES < 16
// The same in one instruction, with the second and the third of each four lanes exchanged.
MSL_INL uint_l msl_high_halves_crossed(msl_wide even, msl_wide odd) {
    typedef uint_l::raw R;
    R e = (R)even, o = (R)odd;
#if MSL_LANES == 8
    return uint_l::of(__builtin_shufflevector(e, o, 1, 3, 9, 11, 5, 7, 13, 15));
#else
    return uint_l::of(__builtin_shufflevector(e, o, 1, 3, 5, 7));
#endif
}
#endif
MSL_INL uint_l mulhi(uint_l a, uint_l b) {
#if defined(__x86_64__)
    msl_wide x = (msl_wide)a.v, y = (msl_wide)b.v;
    return msl_high_halves(msl_mul_even(x, y), msl_mul_even(msl_odd_halves(x), msl_odd_halves(y)));
#else
    typedef msl_raw<ulong>::type W;
    W w = __builtin_convertvector(a.v, W) * __builtin_convertvector(b.v, W);
    return uint_l::of(__builtin_convertvector(w >> 32, uint_l::raw));
#endif
}

// x / 2^32 mod P, in 0..P, for even and odd words x below 2^32 P. The low words of x and of the multiple of P are equal: only
// high words are subtracted, and joined once.
template <uint P, uint MU> MSL_INL uint_l msl_monty_reduce(msl_wide even, msl_wide odd) {
    typedef uint_l::raw R;
    const msl_wide mu = msl_wide{} + (ulong)MU, p = msl_wide{} + (ulong)P;
    msl_wide qe = msl_mul_even(even, mu), qo = msl_mul_even(odd, mu);
    msl_opaque(qe);
    msl_opaque(qo);
    uint_l r = msl_high_halves((msl_wide)((R)even - (R)msl_mul_even(qe, p)), (msl_wide)((R)odd - (R)msl_mul_even(qo, p)));
    return min(r, r + uint_l(P));
}
// Montgomery product a b / 2^32 mod P for a prime P < 2^31, MU = P^-1 mod 2^32; a b < 2^32 P.
template <uint P, uint MU> MSL_INL uint_l lane_monty_mul(uint_l a, uint_l b) {
#if defined(__x86_64__)
    msl_wide x = (msl_wide)a.v, y = (msl_wide)b.v;
    return msl_monty_reduce<P, MU>(msl_mul_even(x, y), msl_mul_even(msl_odd_halves(x), msl_odd_halves(y)));
#else
    uint_l r = mulhi(a, b) - mulhi(a * b * uint_l(MU), uint_l(P));
    return min(r, r + uint_l(P));
#endif
}
template <uint P, uint MU> MSL_INL uint lane_monty_mul(uint a, uint b) {
    uint r = metal::mulhi(a, b) - metal::mulhi(a * b * MU, P);
    return metal::min(r, r + P);
}

#if defined(__x86_64__)
typedef long msl_signed_wide __attribute__((vector_size(4 * MSL_LANES)));

// Signed product of the low halves of each 64-bit lane.
MSL_INL msl_signed_wide msl_signed_mul_even(msl_signed_wide a, msl_signed_wide b) {
#if defined(__clang__)
    return ((a << 32) >> 32) * ((b << 32) >> 32);
#elif MSL_LANES == 16
    return (msl_signed_wide)_mm512_mul_epi32((__m512i)a, (__m512i)b);
#elif MSL_LANES == 8
    return (msl_signed_wide)_mm256_mul_epi32((__m256i)a, (__m256i)b);
#else
    return (msl_signed_wide)_mm_mul_epi32((__m128i)a, (__m128i)b);
#endif
}
// The odd words, in the low halves of their pairs. In vectors of 16 by shifts, which leave the multipliers alone.
MSL_INL msl_signed_wide msl_odd_words(msl_signed_wide x) {
#if MSL_LANES == 16
    return (msl_signed_wide)((msl_wide)x >> 32);
#else
    uint_l::raw w = (uint_l::raw)x;
#if MSL_LANES == 8
    return (msl_signed_wide)__builtin_shufflevector(w, w, 1, 1, 3, 3, 5, 5, 7, 7);
#else
    return (msl_signed_wide)__builtin_shufflevector(w, w, 1, 1, 3, 3);
#endif
#endif
}
// The multiple of P whose low half is that of x.
template <uint P, uint MU> MSL_INL msl_signed_wide msl_monty_multiple(msl_signed_wide x) {
    msl_wide q = (msl_wide)msl_signed_mul_even(x, msl_signed_wide{} + (long)(int)MU);
    msl_opaque(q);
    return msl_signed_mul_even((msl_signed_wide)q, msl_signed_wide{} + (long)P);
}
// x / 2^32 mod P, in (-P, P) for |x| < 2^31 P.
template <uint P, uint MU> MSL_INL msl_signed_wide msl_signed_reduce(msl_signed_wide x) {
    return msl_odd_words((msl_signed_wide)((uint_l::raw)x - (uint_l::raw)msl_monty_multiple<P, MU>(x)));
}
#endif

// x^7 of a value in Montgomery form, for x in [-P, P) as signed words and a prime P < 2^31, step by step, so that callers have something to
// do beside each: a power is a chain of dependent products, longer than what a processor looks ahead. Even and odd lanes stay apart from the first
// product to the last, as signed words: none between them is brought to 0..P.
template <uint P, uint MU> struct lane_seventh {
#if defined(__x86_64__)
    msl_signed_wide y[2], y3[2], y4[2];  // x and in the end x^7, x^3, x^2 and then x^4
    MSL_INL void square(uint_l x) {
        y[0] = (msl_signed_wide)x.v;
        y[1] = msl_odd_words(y[0]);
        MSL_UNROLL for (uint i = 0; i < 2; i++) y4[i] = msl_signed_reduce<P, MU>(msl_signed_mul_even(y[i], y[i]));
    }
    MSL_INL void third_and_fourth() {
        MSL_UNROLL for (uint i = 0; i < 2; i++) {
            y3[i] = msl_signed_reduce<P, MU>(msl_signed_mul_even(y4[i], y[i]));
            y4[i] = msl_signed_reduce<P, MU>(msl_signed_mul_even(y4[i], y4[i]));
        }
    }
    MSL_INL void product() {
        MSL_UNROLL for (uint i = 0; i < 2; i++) {
            y[i] = msl_signed_mul_even(y3[i], y4[i]);
            y[i] -= msl_monty_multiple<P, MU>(y[i]);
        }
    }
    // CROSSED: the second and the third of each four lanes are exchanged, which saves an instruction where vectors have 4 or 8.
    template <bool CROSSED> MSL_INL uint_l seventh() {
#if MSL_LANES == 16
        // The low halves are zero.
        uint_l r = uint_l::of((uint_l::raw)(((msl_wide)y[0] >> 32) | (msl_wide)y[1]));
#else
        uint_l r = CROSSED ? msl_high_halves_crossed((msl_wide)y[0], (msl_wide)y[1]) : msl_high_halves((msl_wide)y[0], (msl_wide)y[1]);
#endif
        return min(r, r + uint_l(P));
    }
#else
    uint_l y, y3, y4;
    MSL_INL void square(uint_l x) {
        y = min(x, x + uint_l(P));
        y4 = lane_monty_mul<P, MU>(y, y);
    }
    MSL_INL void third_and_fourth() {
        y3 = lane_monty_mul<P, MU>(y4, y);
        y4 = lane_monty_mul<P, MU>(y4, y4);
    }
    MSL_INL void product() { y = lane_monty_mul<P, MU>(y3, y4); }
    template <bool CROSSED> MSL_INL uint_l seventh() { return y; }
#endif
};
// Of N values, each step for all of them before the next one. CROSSED: see lane_seventh; of two times nothing is left.
template <uint P, uint MU, uint N, bool CROSSED> MSL_INL void lane_monty_sevenths(uint_l* x) {
    lane_seventh<P, MU> y[N];
    MSL_UNROLL for (uint i = 0; i < N; i++) y[i].square(x[i]);
    MSL_UNROLL for (uint i = 0; i < N; i++) y[i].third_and_fourth();
    MSL_UNROLL for (uint i = 0; i < N; i++) y[i].product();
    MSL_UNROLL for (uint i = 0; i < N; i++) x[i] = y[i].template seventh<CROSSED>();
}
// (x mod 2^K) C. AVX2 looks it up if K is 2 or 3.
template <uint K, uint C> MSL_INL uint_l lane_low_bits_times(uint_l x) {
#if defined(__AVX2__) && MSL_LANES == 8
    const uint_l::raw table = {0u, C, 2u * C, 3u * C, K == 2u ? 0u : 4u * C, K == 2u ? C : 5u * C, K == 2u ? 2u * C : 6u * C, K == 2u ? 3u * C : 7u * C};
#if defined(__clang__)
    typedef int Ints __attribute__((vector_size(32)));
    typedef float Floats __attribute__((vector_size(32)));
    if (K == 2u) return uint_l::of((uint_l::raw)__builtin_ia32_vpermilvarps256((Floats)table, (Ints)x.v));
    if (K == 3u) return uint_l::of((uint_l::raw)__builtin_ia32_permvarsi256((Ints)table, (Ints)x.v));
#else
    if (K == 2u) return uint_l::of((uint_l::raw)_mm256_permutevar_ps((__m256)table, (__m256i)x.v));
    if (K == 3u) return uint_l::of((uint_l::raw)_mm256_permutevar8x32_epi32((__m256i)table, (__m256i)x.v));
#endif
#endif
    return (x & uint_l((1u << K) - 1u)) * uint_l(C);
}
