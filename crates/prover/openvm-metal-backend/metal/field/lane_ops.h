#pragma once
// Loads of adjacent pairs and reductions over a threadgroup for lane kernels.
#include "fp_ext.h"

/// Index of the first lane.
#if LANE_WIDTH > 1
inline ulong lane_base(index_l i) { return i.base; }
#else
inline ulong lane_base(index_l i) { return i; }
#endif

/// i mod 2^bits and i div 2^bits, for lanes that do not cross a multiple of 2^bits.
#if LANE_WIDTH > 1
inline index_l lane_mod_pow2(index_l i, uint bits) {
    index_l r = i;
    r.base = i.base & ((1ul << bits) - 1ul);
    return r;
}
#else
inline index_l lane_mod_pow2(index_l i, uint bits) { return i & ((1ul << bits) - 1ul); }
#endif
inline ulong lane_div_pow2(index_l i, uint bits) { return lane_base(i) >> bits; }

/// Two adjacent elements of a table: the values of a multilinear polynomial at 0 and 1.
template <typename U>
struct FpExtPairT {
    FpExtT<U> even, odd;
};
typedef FpExtPairT<uint> FpExtPair;
typedef FpExtPairT<uint_l> FpExtPairL;
template <> struct lane_type<FpExtPair> { typedef FpExtPairL type; };

/// Lane k gets p[2 i_k] and p[2 i_k + 1].
inline FpExtPairL lane_load_pair(device const FpExt* p, index_l i) {
    return lane_load((device const FpExtPair*)p, i);
}

/// bit ? b : a, for a vector of bits that are 0 or 1.
template <typename U> inline FpT<U> fp_select_bit(Fp a, Fp b, U bit) {
    U take = (U)0u - bit;
    return FpT<U>{(U)a.v ^ (take & (U)(a.v ^ b.v))};
}
template <typename U> inline FpExtT<U> fpext_select_bit(FpExt a, FpExt b, U bit) {
    FpExtT<U> r;
    MSL_UNROLL for (uint k = 0; k < EXT_DEGREE; k++) r.c[k] = fp_select_bit(a.c[k], b.c[k], bit);
    return r;
}

/// Threads whose sums `fpext_group_sum` can add; the size of its scratch array.
constant constexpr uint GROUP_SUM_THREADS = 256u;

/// Sum of x over the threads of the threadgroup, on thread 0; log2(tpg) barriers on GPUs.
#if LANE_WIDTH > 1
inline FpExt fpext_group_sum(FpExtL x, threadgroup FpExt* scratch, tid_l tid, uint tpg) {
    (void)scratch;
    (void)tid;
    return fpext_lane_first(fpext_simd_sum(x, tpg));
}
#else
inline FpExt fpext_group_sum(FpExt x, threadgroup FpExt* scratch, uint tid, uint tpg) {
    scratch[tid] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = tpg; n > 1u;) {
        uint half_n = (n + 1u) >> 1;
        if (tid + half_n < n) scratch[tid] = scratch[tid] + scratch[tid + half_n];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        n = half_n;
    }
    return scratch[0];
}
#endif
