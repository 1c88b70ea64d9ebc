#pragma once
// Extension of 2^L values on the skip domain D to cosets of D: inverse transform, then one forward
// transform for each coset. Tables: N/2 powers of w^-1, N/2 powers of w, then for each coset N factors
// shift^rev(k) / N, w of order N = 2^L.
#include "columns.h"

/// One stage over blocks of 2 HALF: decimation in frequency, a' = a + b, b' = (a - b) w^j.
template <uint N, uint HALF> inline void constraint_dif(thread FpL* a, device const Fp* roots) {
    MSL_UNROLL for (uint k = 0; k < N / 2u; k++) {
        const uint j = k & (HALF - 1u);
        const uint i = ((k - j) << 1) + j;
        FpL u = a[i], v = a[i + HALF];
        a[i] = u + v;
        a[i + HALF] = j == 0u ? u - v : fp_sub_loose(u, v) * fp_lanes(roots[j * (N / 2u / HALF)]);
    }
}
/// The same in time: a' = a + b w^j, b' = a - b w^j. What the next stage multiplies is not reduced.
template <uint N, uint HALF> inline void constraint_dit(thread FpL* a, device const Fp* roots) {
    MSL_UNROLL for (uint k = 0; k < N / 2u; k++) {
        const uint j = k & (HALF - 1u);
        const uint i = ((k - j) << 1) + j;
        FpL u = a[i], v = j == 0u ? a[i + HALF] : a[i + HALF] * fp_lanes(roots[j * (N / 2u / HALF)]);
        bool low = HALF < N / 2u && (i & (2u * HALF)) != 0u && j != 0u, high = HALF < N / 2u && (i & (2u * HALF)) != 0u;
        a[i] = low ? fp_add_loose(u, v) : u + v;
        a[i + HALF] = high ? fp_sub_loose(u, v) : u - v;
    }
}
template <uint L> inline void constraint_inverse(thread FpL* a, device const Fp* roots) {
    constexpr uint N = 1u << L;
    if (L >= 4u) constraint_dif<N, (L >= 4u ? 8u : 1u)>(a, roots);
    if (L >= 3u) constraint_dif<N, (L >= 3u ? 4u : 1u)>(a, roots);
    if (L >= 2u) constraint_dif<N, (L >= 2u ? 2u : 1u)>(a, roots);
    constraint_dif<N, 1u>(a, roots);
}
template <uint L> inline void constraint_forward(thread FpL* a, device const Fp* roots) {
    constexpr uint N = 1u << L;
    constraint_dit<N, 1u>(a, roots);
    if (L >= 2u) constraint_dit<N, (L >= 2u ? 2u : 1u)>(a, roots);
    if (L >= 3u) constraint_dit<N, (L >= 3u ? 4u : 1u)>(a, roots);
    if (L >= 4u) constraint_dit<N, (L >= 4u ? 8u : 1u)>(a, roots);
}

/// Words of a coset that no cache of a processor holds until they are read.
constant constexpr ulong CONSTRAINT_STREAMED = 1ul << 22;
#if LANE_WIDTH > 1
/// Vectors of lanes that a cache line of 64 bytes holds.
constant constexpr uint CONSTRAINT_LINE = 16u / LANE_WIDTH;
#endif

/// The 2^L values of one column at one x.
template <uint L>
inline void constraint_coset_read(thread FpL* a, ConstraintReader r, index_l x, uint first_x) {
    constexpr uint N = 1u << L;
    index_l row = (x + ulong(first_x)) << L;
#if LANE_WIDTH > 1
    if (constraint_has_runs<N>(r)) {
        FpRunT<uint_l, N> run = lane_load((device const FpRunT<uint, N>*)r.cells, x + ulong(first_x));
        if (r.next == 0u) {
            MSL_UNROLL for (uint z = 0; z < N; z++) a[z] = run.c[z];
        } else {
            MSL_UNROLL for (uint z = 0; z + 1u < N; z++) a[z] = run.c[z + 1u];
            a[N - 1u] = constraint_read(r, to_vec(row) + (N - 1u));
        }
        return;
    }
#endif
    MSL_UNROLL for (uint z = 0; z + 1u < N; z++) a[z] = constraint_read_inside(r, row + ulong(z));
    a[N - 1u] = constraint_read(r, to_vec(row) + (N - 1u));
}

/// All cosets of one column at one x, values in registers (1 <= L <= 4), or at the x of V vectors one after another. `x` counts from the
/// job's first point; value z of coset c goes to out[c * coset_stride + (z << log_points) + x].
template <uint L, uint V>
inline void constraint_extend_column(ConstraintReader r, index_l x, uint first_x, device Fp* out, ulong coset_stride,
                                     uint log_points, uint cosets, device const Fp* tables) {
    constexpr uint N = 1u << L;
    FpL a[V][N];
    MSL_UNROLL for (uint v = 0; v < V; v++) {
        constraint_coset_read<L>(a[v], r, x + ulong(v * LANE_WIDTH), first_x);
        constraint_inverse<L>(a[v], tables);
    }
    for (uint c = 0; c < cosets; c++) {
        FpL b[V][N];
        device const Fp* factors = tables + N + c * N;
        MSL_UNROLL for (uint v = 0; v < V; v++) {
            MSL_UNROLL for (uint z = 0; z < N; z++) b[v][z] = a[v][z] * fp_lanes(factors[z]);
            constraint_forward<L>(b[v], tables + N / 2u);
        }
        device Fp* coset = out + c * coset_stride;
#if LANE_WIDTH > 1
        if (V == CONSTRAINT_LINE && coset_stride >= CONSTRAINT_STREAMED) {
            MSL_UNROLL for (uint z = 0; z < N; z++) {
                MSL_UNROLL for (uint v = 0; v < V; v++) lane_stream(coset + (ulong(z) << log_points), x + ulong(v * LANE_WIDTH), b[v][z]);
            }
            continue;
        }
#endif
        MSL_UNROLL for (uint v = 0; v < V; v++) {
            MSL_UNROLL for (uint z = 0; z < N; z++) lane_store(coset + (ulong(z) << log_points), x + ulong(v * LANE_WIDTH), b[v][z]);
        }
    }
}

/// The same for any l_skip, values in the output itself.
inline void constraint_extend_column_in_memory(ConstraintReader r, index_l x, uint first_x, device Fp* out, ulong coset_stride,
                                               uint log_points, uint cosets, device const Fp* tables, uint l_skip) {
    const uint n = 1u << l_skip;
    index_l row = (x + ulong(first_x)) << l_skip;
    for (uint c = 0; c < cosets; c++) {
        device Fp* a = out + c * coset_stride;
        for (uint z = 0; z < n; z++) lane_store(a + (ulong(z) << log_points), x, constraint_read(r, to_vec(row) + z));
        for (uint half_n = n >> 1; half_n > 0u; half_n >>= 1) {
            for (uint k = 0; k < n >> 1; k++) {
                uint j = k & (half_n - 1u), i = ((k - j) << 1) + j;
                device Fp* p = a + (ulong(i) << log_points);
                device Fp* q = p + (ulong(half_n) << log_points);
                FpL u = lane_load(p, x), v = lane_load(q, x);
                lane_store(p, x, u + v);
                lane_store(q, x, (u - v) * fp_lanes(tables[j * ((n >> 1) / half_n)]));
            }
        }
        device const Fp* roots = tables + (n >> 1);
        device const Fp* factors = tables + (n > 1u ? n : 0u) + c * n;
        for (uint z = 0; z < n; z++) {
            device Fp* p = a + (ulong(z) << log_points);
            lane_store(p, x, lane_load(p, x) * fp_lanes(factors[z]));
        }
        for (uint half_n = 1u; half_n < n; half_n <<= 1) {
            for (uint k = 0; k < n >> 1; k++) {
                uint j = k & (half_n - 1u), i = ((k - j) << 1) + j;
                device Fp* p = a + (ulong(i) << log_points);
                device Fp* q = p + (ulong(half_n) << log_points);
                FpL u = lane_load(p, x), v = lane_load(q, x) * fp_lanes(roots[j * ((n >> 1) / half_n)]);
                lane_store(p, x, u + v);
                lane_store(q, x, u - v);
            }
        }
    }
}
