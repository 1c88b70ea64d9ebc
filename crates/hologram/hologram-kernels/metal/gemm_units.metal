// Products of matrices of halves on matrix units, summed up in `float`.
#include "product_tile.h"
#include "params.h"

/// Rows of p.cols halves filled up with zeros to octets: one octet per thread, eight elements read, sixteen bytes written.
/// Cost: 32 bytes per thread.
/// Lengths: from p.rows * p.cols, to p.rows * (ceil_div(p.cols, 8) * 8).
/// Requires: p.cols >= 1, p.cols <= 1 << 31, p.rows * ceil_div(p.cols, 8) <= 4294967295.
kernel void fill_octets(device const ushort* from [[buffer(0)]], device ushort* to [[buffer(1)]],
                        constant OctetParams& p [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= p.rows * ((p.cols + 7) / 8)) return;
    uint octets = (p.cols + 7) / 8, row = gid / octets, col = gid % octets * 8;
    device const ushort* x = from + ulong(row) * p.cols + col;
    uint w[4] = {0u, 0u, 0u, 0u};
    MSL_UNROLL for (uint j = 0; j < 8; j++)
        if (col + j < p.cols) w[j / 2] |= uint(x[j]) << (j % 2 * 16);
    *(device uint4*)(to + ulong(gid) * 8) = uint4(w[0], w[1], w[2], w[3]);
}

/// A tile of c: BM x BN elements per threadgroup, M x N per SIMD-group. Rows of a and of b are filled up to octets. Reads
/// (BM + BN) depth elements per step; the next ones come while those in threadgroup memory are multiplied.
/// Cost: BM * BN * p.k products, 2 * ((BM + BN) * p.k + BM * BN) bytes per threadgroup.
/// Lengths: a p.m * (ceil_div(p.k, 8) * 8), b p.k * (ceil_div(p.n, 8) * 8), c p.m * p.n.
/// Requires: threads_per_group == BM * BN / (M * N) * 32, groups <= p.tiles_m * p.tiles_n, p.tiles_n < 1 << 28,
/// p.k <= 1 << 31, p.n <= 1 << 31, p.c_aligned == 0 or p.n % 2 == 0.
template <typename F, uint BM, uint BN, uint M, uint N>
[[max_total_threads_per_threadgroup(256)]]
kernel void gemm_units(device const ushort* a [[buffer(0)]], device const ushort* b [[buffer(1)]], device ushort* c [[buffer(2)]],
                       constant GemmParams& p [[buffer(3)]], uint tid [[thread_index_in_threadgroup]],
                       uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]],
                       uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint simds = BM * BN / (M * N), threads = simds * 32, depth = 32 / Unit<F>::words;
    constexpr uint size_a = BM * Rows<F, depth / 8>::pitch, size_b = depth * Rows<F, BN / 8>::pitch;
    constexpr uint count_a = BM * depth / 8 / threads, count_b = BN * depth / 8 / threads;
    threadgroup uint4 as[STAGES * size_a];
    threadgroup uint4 bs[STAGES * size_b];
    threadgroup float patches[simds * PATCH];
    if (tpg != threads) return;
    // Groups that run together share rows of a and columns of b.
    uint strip = group / (8 * p.tiles_n), height = min(8u, p.tiles_m - strip * 8), within = group - strip * 8 * p.tiles_n;
    Part x = {(strip * 8 + within % height) * BM, 0, p.m, p.k}, y = {0, within / height * BN, p.k, p.n};
    uint m0 = x.row, n0 = y.col, row = simd / (BN / N) * M, col = simd % (BN / N) * N;
    uint4 next_a[count_a], next_b[count_b];
    Sums<M, N> sums;
    clear(sums);
    MSL_UNROLL for (uint s = 0; s < AHEAD; s++) {
        request<F, depth / 8, threads, count_a>(next_a, as + s * size_a, a, x, tid);
        request<F, BN / 8, threads, count_b>(next_b, bs + s * size_b, b, y, tid);
        request_done();
        x.col += depth;
        y.row += depth;
    }
    uint now = 0, then = AHEAD % STAGES;
    for (uint k0 = 0; k0 < p.k; k0 += depth) {
        before_delivery();
        deliver<F, depth / 8, threads, count_a>(next_a, as, tid);
        deliver<F, BN / 8, threads, count_b>(next_b, bs, tid);
        after_delivery();
        request<F, depth / 8, threads, count_a>(next_a, as + then * size_a, a, x, tid);
        request<F, BN / 8, threads, count_b>(next_b, bs + then * size_b, b, y, tid);
        request_done();
        x.col += depth;
        y.row += depth;
        multiply<F, M, N, depth, BN>(as + now * size_a, bs + now * size_b, row, col, lane, sums);
        now = now + 1 == STAGES ? 0 : now + 1;
        then = then + 1 == STAGES ? 0 : then + 1;
    }
    threadgroup float* patch = patches + simd * PATCH;
    MSL_UNROLL for (uint i = 0; i < M / 8; i++) {
        MSL_UNROLL for (uint j = 0; j < N / 8; j++) {
            float2 pair = block_pair(sums, i * (N / 8) + j, patch, lane);
            uint to_col = n0 + col + j * 8 + lane % 4 * 2, to_row = m0 + row + i * 8 + lane / 4;
            device ushort* to = c + ulong(to_row) * p.n + to_col;
            if (to_row < p.m && to_col + 2 <= p.n && p.c_aligned != 0) {
                *(device ushort2*)to = ushort2(F::bits(pair.x), F::bits(pair.y));
            } else if (to_row < p.m) {
                if (to_col < p.n) to[0] = F::bits(pair.x);
                if (to_col + 1 < p.n) to[1] = F::bits(pair.y);
            }
        }
    }
}
#define GEMM_UNITS(name, F, BM, BN, M, N) \
    template [[host_name(name)]] kernel void gemm_units<F, BM, BN, M, N>(device const ushort*, device const ushort*, device ushort*, \
                                                                         constant GemmParams&, uint, uint, uint, uint, uint);
GEMM_UNITS("gemm_f16_units_128", Half, 128, 128, 64, 32)
GEMM_UNITS("gemm_f16_units_64", Half, 64, 64, 32, 32)
GEMM_UNITS("gemm_bf16_units_128", Brain, 128, 128, 64, 32)
GEMM_UNITS("gemm_bf16_units_64", Brain, 64, 64, 32, 32)
