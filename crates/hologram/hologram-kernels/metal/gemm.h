#pragma once
// Products of matrices, row-major, of any size. T in memory, R in sums, F how they belong together.
#include "fold.h"
#include "formats.h"
#include "params.h"

template <typename T> struct alignas(16) Quad {
    T v[4];
};

// Four elements of S bytes at a multiple of 16 bytes; of halves at one of 8 bytes.
template <typename T, typename F, uint S> struct Four {
    typedef typename F::real R;
    static inline Quad<R> get(device const T* p) {
        constexpr uint n = 16 / S;
        Quad<R> q;
        MSL_UNROLL for (uint j = 0; j < 4; j += n) {
            Pack<T> x = read_pack(p + j);
            MSL_UNROLL for (uint l = 0; l < n; l++) q.v[j + l] = F::value(x.v[l]);
        }
        return q;
    }
    static inline void put(device T* p, Quad<R> q) {
        constexpr uint n = 16 / S;
        MSL_UNROLL for (uint j = 0; j < 4; j += n) {
            Pack<T> x;
            MSL_UNROLL for (uint l = 0; l < n; l++) x.v[l] = F::bits(q.v[j + l]);
            write_pack(p + j, x);
        }
    }
};
template <typename T, typename F> struct Four<T, F, 2> {
    typedef typename F::real R;
    static inline Quad<R> get(device const T* p) {
        uint2 w = *(device const uint2*)p;
        Quad<R> q;
        MSL_UNROLL for (uint j = 0; j < 4; j++) q.v[j] = F::value(T(w[j / 2] >> (j % 2 * 16)));
        return q;
    }
    static inline void put(device T* p, Quad<R> q) {
        uint b[4];
        MSL_UNROLL for (uint j = 0; j < 4; j++) b[j] = uint(F::bits(q.v[j]));
        *(device uint2*)p = uint2(b[0] | b[1] << 16, b[2] | b[3] << 16);
    }
};

// Four elements of a row of a matrix of `rows` x `cols`, zeros outside.
template <typename F, typename T>
inline Quad<typename F::real> load_quad(device const T* x, ulong row, uint col, uint rows, uint cols, bool aligned) {
    typedef typename F::real R;
    device const T* p = x + row * cols + col;
    if (aligned && row < rows && col + 4 <= cols) return Four<T, F, sizeof(T)>::get(p);
    Quad<R> q;
    MSL_UNROLL for (uint j = 0; j < 4; j++) q.v[j] = row < rows && col + j < cols ? F::value(p[j]) : R(0);
    return q;
}

// A tile of `a` is held with k outermost; its columns are permuted within 32 so that the transposing
// stores of neighbouring threads go to different banks.
inline uint swizzle(uint k, uint row) { return row ^ ((k >> 2) & 3u) << 3; }

template <typename T, typename R, typename F, uint BM, uint BN, uint BK> struct Tile {
    // Quad `e` of the tile of `a` that begins at row `m0` and column `k0`.
    static inline Quad<R> load_a(device const T* a, constant GemmParams& p, uint m0, uint k0, uint e) {
        return load_quad<F>(a, ulong(m0) + e / (BK / 4), k0 + e % (BK / 4) * 4, p.m, p.k, p.a_aligned != 0);
    }
    static inline Quad<R> load_b(device const T* b, constant GemmParams& p, uint n0, uint k0, uint e) {
        return load_quad<F>(b, ulong(k0) + e / (BN / 4), n0 + e % (BN / 4) * 4, p.k, p.n, p.b_aligned != 0);
    }
    static inline void store_a(threadgroup Quad<R>* s, uint e, Quad<R> q) {
        uint row = e / (BK / 4), k = e % (BK / 4) * 4;
        threadgroup R* t = (threadgroup R*)s;
        MSL_UNROLL for (uint j = 0; j < 4; j++) t[(k + j) * BM + swizzle(k, row)] = q.v[j];
    }
    static inline void store_b(threadgroup Quad<R>* s, uint e, Quad<R> q) { s[e] = q; }
};

// Place of a thread in the tile: warps of 4 x 8 threads.
template <uint BN, uint TN> inline uint thread_x(uint v) { return ((v >> 5) % (BN / TN / 8)) * 8 + v % 8; }
template <uint BN, uint TN> inline uint thread_y(uint v) { return ((v >> 5) / (BN / TN / 8)) * 4 + (v / 8) % 4; }

// Adds the product of two tiles to a thread's TM x TN elements.
template <typename T, uint BM, uint BN, uint BK, uint TM, uint TN>
inline void multiply(threadgroup const Quad<T>* as, threadgroup const Quad<T>* bs, uint tx, uint ty, thread T* acc) {
    MSL_UNROLL for (uint k = 0; k < BK; k++) {
        Quad<T> x[TM / 4], y[TN / 4];
        MSL_UNROLL for (uint c = 0; c < TM / 4; c++) x[c] = as[k * (BM / 4) + swizzle(k, c * (BM * 4 / TM) + ty * 4) / 4];
        MSL_UNROLL for (uint c = 0; c < TN / 4; c++) y[c] = bs[k * (BN / 4) + c * (BN / TN) + tx];
        MSL_UNROLL for (uint i = 0; i < TM; i++)
            MSL_UNROLL for (uint j = 0; j < TN; j++)
                acc[i * TN + j] = real_fma(x[i / 4].v[i % 4], y[j / 4].v[j % 4], acc[i * TN + j]);
    }
}

// Writes a thread's elements of the tile at (m0, n0).
template <typename T, typename R, typename F, uint BM, uint BN, uint TM, uint TN>
inline void write_tile(device T* c, constant GemmParams& p, uint m0, uint n0, uint tx, uint ty, thread const R* acc) {
    MSL_UNROLL for (uint i = 0; i < TM; i++) {
        uint row = m0 + i / 4 * (BM * 4 / TM) + ty * 4 + i % 4;
        if (row < p.m) {
            MSL_UNROLL for (uint j = 0; j < TN; j += 4) {
                uint col = n0 + j / 4 * (BN * 4 / TN) + tx * 4;
                device T* to = c + ulong(row) * p.n + col;
                if (p.c_aligned != 0 && col + 4 <= p.n) {
                    Quad<R> q;
                    MSL_UNROLL for (uint l = 0; l < 4; l++) q.v[l] = acc[i * TN + j + l];
                    Four<T, F, sizeof(T)>::put(to, q);
                } else {
                    MSL_UNROLL for (uint l = 0; l < 4; l++) if (col + l < p.n) to[l] = F::bits(acc[i * TN + j + l]);
                }
            }
        }
    }
}

/// A tile of c: BM x BN elements per threadgroup, TM x TN per thread. Reads (BM + BN) BK elements per step,
/// two steps in threadgroup memory; the next one is loaded while one is multiplied.
/// Cost: BM * BN * p.k products, sizeof(T) * ((BM + BN) * p.k + BM * BN) bytes per threadgroup.
/// Lengths: a p.m * p.k, b p.k * p.n, c p.m * p.n.
/// Requires: groups <= p.tiles_m * p.tiles_n, p.tiles_n < 1 << 28, p.k <= 1 << 31, p.n <= 1 << 31,
/// p.a_aligned == 0 or p.k % 4 == 0, p.b_aligned == 0 or p.n % 4 == 0, p.c_aligned == 0 or p.n % 4 == 0.
template <typename T, typename R, typename F, uint BM, uint BN, uint BK, uint TM, uint TN>
[[max_total_threads_per_threadgroup(256)]]
kernel void gemm_tile(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]], device T* c [[buffer(2)]],
                      constant GemmParams& p [[buffer(3)]], uint tid [[thread_index_in_threadgroup]],
                      uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    typedef Tile<T, R, F, BM, BN, BK> Tiles;
    constexpr uint threads = (BM / TM) * (BN / TN), quads_a = BM * BK / 4, quads_b = BN * BK / 4;
    threadgroup Quad<R> as[BM * BK / 2];
    threadgroup Quad<R> bs[BN * BK / 2];
    // Groups that run together share rows of a and columns of b.
    uint strip = group / (8 * p.tiles_n), height = min(8u, p.tiles_m - strip * 8), within = group - strip * 8 * p.tiles_n;
    uint m0 = (strip * 8 + within % height) * BM, n0 = within / height * BN;
    R acc[TM * TN];
    if (tpg == threads) {
        uint tx = thread_x<BN, TN>(tid), ty = thread_y<BN, TN>(tid);
        Quad<R> next_a[quads_a / threads], next_b[quads_b / threads];
        MSL_UNROLL for (uint i = 0; i < TM * TN; i++) acc[i] = R(0);
        MSL_UNROLL for (uint u = 0; u < quads_a / threads; u++) Tiles::store_a(as, tid + u * threads, Tiles::load_a(a, p, m0, 0, tid + u * threads));
        MSL_UNROLL for (uint u = 0; u < quads_b / threads; u++) Tiles::store_b(bs, tid + u * threads, Tiles::load_b(b, p, n0, 0, tid + u * threads));
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint now = 0;
        for (uint k0 = 0; k0 < p.k; k0 += BK) {
            bool more = p.k - k0 > BK;
            if (more) {
                MSL_UNROLL for (uint u = 0; u < quads_a / threads; u++) next_a[u] = Tiles::load_a(a, p, m0, k0 + BK, tid + u * threads);
                MSL_UNROLL for (uint u = 0; u < quads_b / threads; u++) next_b[u] = Tiles::load_b(b, p, n0, k0 + BK, tid + u * threads);
            }
            multiply<R, BM, BN, BK, TM, TN>(as + now * quads_a, bs + now * quads_b, tx, ty, acc);
            now = 1 - now;
            if (more) {
                MSL_UNROLL for (uint u = 0; u < quads_a / threads; u++) Tiles::store_a(as + now * quads_a, tid + u * threads, next_a[u]);
                MSL_UNROLL for (uint u = 0; u < quads_b / threads; u++) Tiles::store_b(bs + now * quads_b, tid + u * threads, next_b[u]);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        write_tile<T, R, F, BM, BN, TM, TN>(c, p, m0, n0, tx, ty, acc);
    } else {
        // Another number of threads: each stands for several, one after the other.
        for (uint v0 = 0; v0 < threads; v0 += tpg) {
            uint v = v0 + tid, tx = thread_x<BN, TN>(v), ty = thread_y<BN, TN>(v);
            for (uint i = 0; i < TM * TN; i++) acc[i] = R(0);
            for (uint k0 = 0; k0 < p.k; k0 += BK) {
                for (uint e = tid; e < quads_a; e += tpg) Tiles::store_a(as, e, Tiles::load_a(a, p, m0, k0, e));
                for (uint e = tid; e < quads_b; e += tpg) Tiles::store_b(bs, e, Tiles::load_b(b, p, n0, k0, e));
                threadgroup_barrier(mem_flags::mem_threadgroup);
                if (v < threads) multiply<R, BM, BN, BK, TM, TN>(as, bs, tx, ty, acc);
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            if (v < threads) write_tile<T, R, F, BM, BN, TM, TN>(c, p, m0, n0, tx, ty, acc);
        }
    }
}
/// c[row] = row of a times the vector b: k elements of each per threadgroup.
/// Cost: p.k products, sizeof(T) * (2 * p.k + 1) bytes per threadgroup.
/// Lengths: a p.m * p.k, b p.k, c groups.
/// Requires: p.k <= 1 << 31, p.a_aligned == 0 or p.k % 4 == 0.
template <typename T, typename R, typename F>
[[max_total_threads_per_threadgroup(256)]]
kernel void gemv_rows(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]], device T* c [[buffer(2)]],
                      constant GemmParams& p [[buffer(3)]], uint tid [[thread_index_in_threadgroup]],
                      uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup R scratch[256];
    bool aligned = p.a_aligned != 0 && p.b_aligned != 0;
    R acc[4] = {R(0), R(0), R(0), R(0)};
    for (ulong i = ulong(tid) * 4; i < p.k; i += ulong(tpg) * 4) {
        Quad<R> x = load_quad<F>(a, group, uint(i), p.m, p.k, aligned);
        Quad<R> y = load_quad<F>(b, 0, uint(i), 1, p.k, aligned);
        MSL_UNROLL for (uint j = 0; j < 4; j++) acc[j] = real_fma(x.v[j], y.v[j], acc[j]);
    }
    R sum = group_fold(0u, (acc[0] + acc[2]) + (acc[1] + acc[3]), scratch, tid, tpg);
    if (tid == 0) c[group] = F::bits(sum);
}
#define GEMM(name, T, R, F, BM, BN, BK, TM, TN) \
    template [[host_name(name)]] kernel void gemm_tile<T, R, F, BM, BN, BK, TM, TN>(device const T*, device const T*, device T*, \
                                                                                    constant GemmParams&, uint, uint, uint);
#define GEMV(name, T, R, F) \
    template [[host_name(name)]] kernel void gemv_rows<T, R, F>(device const T*, device const T*, device T*, constant GemmParams&, uint, uint, uint);
