// Products of 52-bit integers, which some x86 processors with AVX-512 have (AVX-512 IFMA): two vectors of eight 64-bit
// words for sixteen lanes. Functions that use them are compiled for those processors, and called on no others.
#pragma once
#if defined(__x86_64__) && MSL_LANES == 16
#define LANE_TARGET_52 __attribute__((target("avx512ifma")))
#define LANE_INLINE_52 inline __attribute__((always_inline)) LANE_TARGET_52

// The even or the odd lanes, each as a 64-bit word. Low 52 bits are factors.
typedef msl_wide wide_l;
#if defined(__clang__)
typedef long long msl_words __attribute__((vector_size(64)));
#define MSL_ADD_LOW_52(sum, a, b) __builtin_ia32_vpmadd52luq512((msl_words)(sum), (msl_words)(a), (msl_words)(b))
#define MSL_ADD_HIGH_52(sum, a, b) __builtin_ia32_vpmadd52huq512((msl_words)(sum), (msl_words)(a), (msl_words)(b))
#else
#define MSL_ADD_LOW_52(sum, a, b) _mm512_madd52lo_epu64((__m512i)(sum), (__m512i)(a), (__m512i)(b))
#define MSL_ADD_HIGH_52(sum, a, b) _mm512_madd52hi_epu64((__m512i)(sum), (__m512i)(a), (__m512i)(b))
#endif
// sum + a b mod 2^52
LANE_INLINE_52 wide_l lane_add_low(wide_l sum, wide_l a, wide_l b) { return (wide_l)MSL_ADD_LOW_52(sum, a, b); }
// sum + floor(a b / 2^52)
LANE_INLINE_52 wide_l lane_add_high(wide_l sum, wide_l a, wide_l b) { return (wide_l)MSL_ADD_HIGH_52(sum, a, b); }
#undef MSL_ADD_LOW_52
#undef MSL_ADD_HIGH_52

MSL_INL wide_l lane_even_words(uint_l x) { return (wide_l)x.v & 0xfffffffful; }
MSL_INL wide_l lane_odd_words(uint_l x) { return (wide_l)x.v >> 32; }
// The low halves of the words of both.
MSL_INL uint_l lane_join_words(wide_l even, wide_l odd) {
    typedef uint_l::raw R;
    return uint_l::of(__builtin_shufflevector((R)even, (R)(odd << 32), 0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31));
}

// Whether this processor has the products. Asked once: the instruction takes microseconds where processors are virtual.
// Units that g++ compiles never use them, so that tests with g++ are those of processors with AVX-512 and without IFMA.
#if defined(__clang__)
inline bool lane_has_products_52() {
    static unsigned known;  // 1: no, 2: yes
    unsigned answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (__builtin_expect(answer == 0, 0)) {
        unsigned a, b, c, d;
        answer = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512IFMA) ? 2 : 1;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == 2;
}
#else
inline bool lane_has_products_52() { return false; }
#endif
#endif
