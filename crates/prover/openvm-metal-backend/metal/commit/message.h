#pragma once
// Evaluations on D x {0,1}^n to the coefficients of the Reed-Solomon message, which is local to chunks
// of 2^L cells: inverse DFT over the skip domain D, then the subset sums over the L bits of the
// coefficient index ("coefficients to evaluations" of a multilinear polynomial in Z, Z^2, Z^4, ...).
#include "../field/run.h"
#include "params.h"

/// Powers 0..31 of the inverse of the primitive 64th root of unity, in Montgomery form.
constant constexpr uint COMMIT_INVERSE_ROOTS[32] = {
    0x0ffffffeu, 0x4bcc008cu, 0x5e1a0700u, 0x1710919eu, 0x67e027cau, 0x6186ff59u, 0x751e6f68u, 0x7746f01cu,
    0x02ec07f3u, 0x5aff10c2u, 0x3e8751a1u, 0x2c278bfcu, 0x0a0e0325u, 0x24a86fc0u, 0x5914e973u, 0x4ed6e525u,
    0x5bc72af0u, 0x3cd81ab7u, 0x29ea9301u, 0x2c3f90f4u, 0x3209d9abu, 0x09d27644u, 0x768e6b34u, 0x236b77f2u,
    0x3a7ad672u, 0x0f6e1dddu, 0x15c206c1u, 0x6694936bu, 0x18f91b80u, 0x76d934efu, 0x38a3c615u, 0x22e95687u,
};

// Vectors of large chunks do not fit into the registers of processors: loops over memory there.
constant constexpr bool COMMIT_LOOPS = LANE_WIDTH > 1;

constexpr uint commit_reverse(uint i, uint bits) {
    uint r = 0;
    for (uint b = 0; b < bits; b++) r |= ((i >> b) & 1u) << (bits - 1u - b);
    return r;
}

/// a * COMMIT_INVERSE_ROOTS[i], a below 2p.
template <typename U> inline FpT<U> commit_times_root(FpT<U> a, uint i) { return a * FpT<U>{(U)COMMIT_INVERSE_ROOTS[i]}; }
#if LANE_WIDTH == 1
template <> inline Fp commit_times_root<uint>(Fp a, uint i) { return a * fp_factor(Fp{COMMIT_INVERSE_ROOTS[i]}); }
#endif

/// The last two stages of the DFT and the subset sums over the two lowest bits, on four neighbours. The sums add up again what the stages
/// subtract, so x[0] - x[2] and the like need not be computed. 1 product, 9 additions.
template <typename U> inline void commit_last_stages(thread FpT<U>* x) {
    FpT<U> even = x[0] + x[2], odd = x[1] + x[3], turned = commit_times_root(fp_sub_loose(x[1], x[3]), 16u), twice = fp_double(x[0]);
    x[0] = even + odd;
    x[1] = fp_double(even);
    x[2] = twice + (odd + turned);
    x[3] = fp_double(twice);
}

/// In place, 2^L cells: for L > 1 (L - 2) 2^(L-1) + 1 products, (1.5 L - 0.75) 2^L additions, if `divide` 2^L shifts; else the coefficients
/// are 2^L times what they should be. L = 0 is the identity.
template <uint L, typename U> inline void commit_chunk_transform(thread FpT<U>* x, bool divide) {
    constexpr uint N = 1u << L;
    // Decimation in frequency: natural order in, bit-reversed order out.
    MSL_UNROLL
    for (uint s = 0; s + 2u < L; s++) {
        uint half_len = N >> (s + 1u);
        MSL_UNROLL
        for (uint k = 0; k < N / 2; k++) {
            uint i = k & (half_len - 1u);
            uint a = ((k - i) << 1) + i, b = a + half_len;
            FpT<U> d = i == 0u ? x[a] - x[b] : commit_times_root(fp_sub_loose(x[a], x[b]), (i << s) << (6u - L));
            x[a] = x[a] + x[b];
            x[b] = d;
        }
    }
    if (L == 1u) {
        FpT<U> sum = x[0] + x[1];
        x[1] = fp_double(x[0]);
        x[0] = sum;
    }
    if (L > 1u) {
        MSL_UNROLL for (uint k = 0; k < N; k += 4u) commit_last_stages<U>(x + k);
    }
    // Subset sums run over all bits, so they commute with the bit reversal.
    MSL_UNROLL
    for (uint s = 2; s < L; s++) {
        uint bit = 1u << s;
        MSL_UNROLL
        for (uint k = 0; k < N / 2; k++) {
            uint i = k & (bit - 1u);
            uint a = ((k - i) << 1) + i;
            x[a + bit] = x[a + bit] + x[a];
        }
    }
    if (L > 0u && divide) {
        MSL_UNROLL for (uint k = 0; k < N; k++) x[k] = fp_div_2exp<(L > 0u ? L : 1u)>(x[k]);
    }
    MSL_UNROLL
    for (uint k = 0; k < N; k++) {
        uint r = commit_reverse(k, L);
        if (k < r) {
            FpT<U> t = x[k];
            x[k] = x[r];
            x[r] = t;
        }
    }
}

/// The same in loops, for chunks that a CPU's registers cannot hold: a tenth of the code. On GPUs an array with
/// variable indices would not be in registers at all.
template <uint L, typename U> inline void commit_chunk_loops(thread FpT<U>* x, bool divide) {
    constexpr uint N = 1u << L;
    for (uint half_len = N / 2u; half_len > 0u; half_len >>= 1) {
        for (uint first = 0; first < N; first += 2u * half_len) {
            for (uint i = 0; i < half_len; i++) {
                uint a = first + i, b = a + half_len;
                FpT<U> d = fp_sub_loose(x[a], x[b]);
                x[a] = x[a] + x[b];
                x[b] = d * FpT<U>{(U)COMMIT_INVERSE_ROOTS[i * (32u / half_len)]};
            }
        }
    }
    for (uint bit = 1u; bit < N; bit *= 2u) {
        for (uint a = 0; a < N; a++) {
            if ((a & bit) == 0u) x[a + bit] = x[a + bit] + x[a];
        }
    }
    for (uint k = 0; k < N; k++) {
        uint r = commit_reverse(k, L);
        if (k < r) {
            FpT<U> t = x[k];
            x[k] = x[r];
            x[r] = t;
        }
    }
    if (!divide) return;
    for (uint k = 0; k < N; k++) x[k] = fp_div_2exp<(L > 0u ? L : 1u)>(x[k]);
}

/// The transform of one chunk per thread, from a range into the first 2^log_column chunks of the
/// codeword columns.
template <uint L>
inline void commit_message(device const Fp* range, device Fp* code, constant CommitMessageParams& p, gid_l gid) {
    constexpr uint N = 1u << L;
    typedef FpRunT<uint, N> Chunk;
    index_l from = index_l(gid) + p.skip;
    FpRunT<uint_l, N> chunk = lane_load((device const Chunk*)range, from);
    bool divide = p.divided != 0u;
    if (COMMIT_LOOPS && L > 4u) commit_chunk_loops<L>(chunk.c, divide);
    else commit_chunk_transform<L>(chunk.c, divide);
    device Chunk* target = (device Chunk*)code;
#if LANE_WIDTH > 1
    ulong first = from.base - p.skip + p.first;
    ulong column = first >> p.log_column, row = first & ((1ul << p.log_column) - 1ul);
    target += column << p.log_code_column;
    if (row + LANE_WIDTH <= (1ul << p.log_column)) {
        lane_store(target, index_l(row, 1), chunk);
    } else { // the lanes reach into the next columns
        uint_l rows = to_vec(index_l(row, 1));
        uint_l ahead = rows >> uint_l(p.log_column);
        lane_scatter(target, rows - (ahead << uint_l(p.log_column)) + (ahead << uint_l(p.log_code_column)), chunk);
    }
#else
    ulong at = from - p.skip + p.first;
    ulong column = at >> p.log_column, row = at & ((1ul << p.log_column) - 1ul);
    target[(column << p.log_code_column) + row] = chunk;
#endif
}
