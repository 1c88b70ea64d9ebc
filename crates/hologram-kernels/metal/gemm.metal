// Products of matrices, row-major, of any size.
#include "fold.h"
#include "params.h"

template <typename T> struct alignas(16) Quad {
    T v[4];
};

// Four elements of a row of a matrix of `rows` x `cols`, zeros outside.
template <typename T>
inline Quad<T> load_quad(device const T* x, ulong row, uint col, uint rows, uint cols, bool aligned) {
    device const T* p = x + row * cols + col;
    Quad<T> q;
    constexpr uint n = 16 / sizeof(T);
    if (aligned && row < rows && col + 4 <= cols) {
        MSL_UNROLL for (uint j = 0; j < 4; j += n) {
            Pack<T> x = read_pack(p + j);
            MSL_UNROLL for (uint l = 0; l < n; l++) q.v[j + l] = x.v[l];
        }
        return q;
    }
    MSL_UNROLL for (uint j = 0; j < 4; j++) q.v[j] = row < rows && col + j < cols ? p[j] : T(0);
    return q;
}

// A tile of `a` is held with k outermost; its columns are permuted within 32 so that the transposing
// stores of neighbouring threads go to different banks.
inline uint swizzle(uint k, uint row) { return row ^ ((k >> 2) & 3u) << 3; }

template <typename T, uint BM, uint BN, uint BK> struct Tile {
    // Quad `e` of the tile of `a` that begins at row `m0` and column `k0`.
    static inline Quad<T> load_a(device const T* a, constant GemmParams& p, uint m0, uint k0, uint e) {
        return load_quad(a, ulong(m0) + e / (BK / 4), k0 + e % (BK / 4) * 4, p.m, p.k, p.a_aligned != 0);
    }
    static inline Quad<T> load_b(device const T* b, constant GemmParams& p, uint n0, uint k0, uint e) {
        return load_quad(b, ulong(k0) + e / (BN / 4), n0 + e % (BN / 4) * 4, p.k, p.n, p.b_aligned != 0);
    }
    static inline void store_a(threadgroup Quad<T>* s, uint e, Quad<T> q) {
        uint row = e / (BK / 4), k = e % (BK / 4) * 4;
        threadgroup T* t = (threadgroup T*)s;
        MSL_UNROLL for (uint j = 0; j < 4; j++) t[(k + j) * BM + swizzle(k, row)] = q.v[j];
    }
    static inline void store_b(threadgroup Quad<T>* s, uint e, Quad<T> q) { s[e] = q; }
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
template <typename T, uint BM, uint BN, uint TM, uint TN>
inline void write_tile(device T* c, constant GemmParams& p, uint m0, uint n0, uint tx, uint ty, thread const T* acc) {
    MSL_UNROLL for (uint i = 0; i < TM; i++) {
        uint row = m0 + i / 4 * (BM * 4 / TM) + ty * 4 + i % 4;
        if (row < p.m) {
            MSL_UNROLL for (uint j = 0; j < TN; j += 4) {
                uint col = n0 + j / 4 * (BN * 4 / TN) + tx * 4;
                device T* to = c + ulong(row) * p.n + col;
                if (p.c_aligned != 0 && col + 4 <= p.n) {
                    constexpr uint n = 16 / sizeof(T);
                    MSL_UNROLL for (uint l = 0; l < 4; l += n) {
                        Pack<T> x;
                        MSL_UNROLL for (uint o = 0; o < n; o++) x.v[o] = acc[i * TN + j + l + o];
                        write_pack(to + l, x);
                    }
                } else {
                    MSL_UNROLL for (uint l = 0; l < 4; l++) if (col + l < p.n) to[l] = acc[i * TN + j + l];
                }
            }
        }
    }
}

/// A tile of c: BM x BN elements per threadgroup, TM x TN per thread. Reads (BM + BN) BK elements per step,
/// two steps in threadgroup memory; the next one is loaded while one is multiplied.
template <typename T, uint BM, uint BN, uint BK, uint TM, uint TN>
[[max_total_threads_per_threadgroup(256)]]
kernel void gemm_tile(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]], device T* c [[buffer(2)]],
                      constant GemmParams& p [[buffer(3)]], uint tid [[thread_index_in_threadgroup]],
                      uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    typedef Tile<T, BM, BN, BK> Tiles;
    constexpr uint threads = (BM / TM) * (BN / TN), quads_a = BM * BK / 4, quads_b = BN * BK / 4;
    threadgroup Quad<T> as[BM * BK / 2];
    threadgroup Quad<T> bs[BN * BK / 2];
    // Groups that run together share rows of a and columns of b.
    uint strip = group / (8 * p.tiles_n), height = min(8u, p.tiles_m - strip * 8), within = group - strip * 8 * p.tiles_n;
    uint m0 = (strip * 8 + within % height) * BM, n0 = within / height * BN;
    T acc[TM * TN];
    if (tpg == threads) {
        uint tx = thread_x<BN, TN>(tid), ty = thread_y<BN, TN>(tid);
        Quad<T> next_a[quads_a / threads], next_b[quads_b / threads];
        MSL_UNROLL for (uint i = 0; i < TM * TN; i++) acc[i] = T(0);
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
            multiply<T, BM, BN, BK, TM, TN>(as + now * quads_a, bs + now * quads_b, tx, ty, acc);
            now = 1 - now;
            if (more) {
                MSL_UNROLL for (uint u = 0; u < quads_a / threads; u++) Tiles::store_a(as + now * quads_a, tid + u * threads, next_a[u]);
                MSL_UNROLL for (uint u = 0; u < quads_b / threads; u++) Tiles::store_b(bs + now * quads_b, tid + u * threads, next_b[u]);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        write_tile<T, BM, BN, TM, TN>(c, p, m0, n0, tx, ty, acc);
    } else {
        // Another number of threads: each stands for several, one after the other.
        for (uint v0 = 0; v0 < threads; v0 += tpg) {
            uint v = v0 + tid, tx = thread_x<BN, TN>(v), ty = thread_y<BN, TN>(v);
            for (uint i = 0; i < TM * TN; i++) acc[i] = T(0);
            for (uint k0 = 0; k0 < p.k; k0 += BK) {
                for (uint e = tid; e < quads_a; e += tpg) Tiles::store_a(as, e, Tiles::load_a(a, p, m0, k0, e));
                for (uint e = tid; e < quads_b; e += tpg) Tiles::store_b(bs, e, Tiles::load_b(b, p, n0, k0, e));
                threadgroup_barrier(mem_flags::mem_threadgroup);
                if (v < threads) multiply<T, BM, BN, BK, TM, TN>(as, bs, tx, ty, acc);
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            if (v < threads) write_tile<T, BM, BN, TM, TN>(c, p, m0, n0, tx, ty, acc);
        }
    }
}
#define GEMM(name, T, BM, BN, BK, TM, TN) \
    template [[host_name(name)]] kernel void gemm_tile<T, BM, BN, BK, TM, TN>(device const T*, device const T*, device T*, \
                                                                              constant GemmParams&, uint, uint, uint);
GEMM("gemm_f32_128", float, 128, 128, 16, 8, 8)
GEMM("gemm_f32_64", float, 64, 64, 16, 4, 4)
GEMM("gemm_f32_32", float, 32, 32, 16, 4, 4)
GEMM("gemm_f64_64", wide, 64, 64, 16, 4, 4)

/// c[row] = row of a times the vector b: k elements of each per threadgroup.
template <typename T>
[[max_total_threads_per_threadgroup(256)]]
kernel void gemv_rows(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]], device T* c [[buffer(2)]],
                      constant GemmParams& p [[buffer(3)]], uint tid [[thread_index_in_threadgroup]],
                      uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup T scratch[256];
    bool aligned = p.a_aligned != 0 && p.b_aligned != 0;
    T acc[4] = {T(0), T(0), T(0), T(0)};
    for (ulong i = ulong(tid) * 4; i < p.k; i += ulong(tpg) * 4) {
        Quad<T> x = load_quad(a, group, uint(i), p.m, p.k, aligned);
        Quad<T> y = load_quad(b, 0, uint(i), 1, p.k, aligned);
        MSL_UNROLL for (uint j = 0; j < 4; j++) acc[j] = real_fma(x.v[j], y.v[j], acc[j]);
    }
    T sum = group_fold(0u, (acc[0] + acc[2]) + (acc[1] + acc[3]), scratch, tid, tpg);
    if (tid == 0) c[group] = sum;
}
#define GEMV(name, T) \
    template [[host_name(name)]] kernel void gemv_rows<T>(device const T*, device const T*, device T*, constant GemmParams&, uint, uint, uint);
GEMV("gemv_f32", float)
GEMV("gemv_f64", wide)
