#include "tall.h"

/// The first of two passes, from messages of 2^p.log_message words to codewords of 2^p.log_n: the p.stages stages
/// that follow those which the padding makes copies. One threadgroup per 2^p.stages rows x 2^p.log_words neighbouring words; a
/// thread reads and writes its words of the tile once, 32 or 64 as planned; the tiles of all copies read the same words.
/// Words of extension elements are columns of their own: p.log_n and p.log_message count words.
/// Registers: 56 per thread.
/// Cost: (p.stages << p.stages + p.log_words - 1) + (1 << p.stages) products,
/// (4 << p.stages + p.log_words) + (4 << p.stages + p.log_words >> p.log_n - p.log_message) bytes per threadgroup.
/// Lengths: src (groups - 1 >> p.log_n - p.stages - p.log_words) * p.src_stride + (1 << p.log_message),
/// dst (groups - 1 >> p.log_n - p.stages - p.log_words) * p.dst_stride + (1 << p.log_n), roots 16384.
/// Requires: p.stages >= 8, p.stages <= 11, p.log_words == 4 - p.stages / 11, p.log_message >= p.stages + p.log_words,
/// p.log_message <= p.log_n, p.log_n <= 27, p.log_n - p.log_message + p.stages <= 14.
/// Safety: the tile has (1 << p.stages + p.log_words) + (2 << p.stages) words.
[[max_total_threads_per_threadgroup(1024)]]
kernel void ntt_tall_columns(device const Fp* src [[buffer(0)]],
                             device Fp* dst [[buffer(1)]],
                             device const Fp* roots [[buffer(2)]],
                             constant NttTallParams& p [[buffer(3)]],
                             threadgroup uint* tile [[threadgroup(0)]],
                             uint tid [[thread_index_in_threadgroup]],
                             uint tpg [[threads_per_threadgroup]],
                             uint group [[threadgroup_position_in_grid]]) {
    TallColumns c = tall_columns(p, group);
    device const Fp* from = src + (c.column * p.src_stride + c.source);
    device Fp* to = dst + (c.column * p.dst_stride + c.target);
#define TALL_CALL(R, Q0, Q1, Q2) \
    if (p.stages == R) tall_columns_pass<R, Q0, Q1, Q2>(from, to, roots, tile, c, tid, tpg);
    TALL_SHAPES(TALL_CALL)
#undef TALL_CALL
}

/// The last of two passes: the p.stages stages that are left, on runs of neighbours, and the bit reversal. One threadgroup per 8 runs whose
/// reversed numbers are neighbours; a thread reads and writes its words once, 16 or 32 as planned, reading along runs and writing 32 bytes in a
/// row. One product per word makes the factors of all runs equal, and scales. The source is not the destination.
/// Registers: 48 per thread.
/// Cost: (p.stages + 2) << p.stages + 2 products, 64 << p.stages bytes per threadgroup.
/// Lengths: src (groups - 1 >> p.log_n - p.stages - 3) * p.src_stride + (1 << p.log_n),
/// dst (groups - 1 >> p.log_n - p.stages - 3) * p.dst_stride + (1 << p.log_n), roots 16384.
/// Requires: p.stages >= 8, p.stages <= 12, p.log_words == 3, p.log_cells == 0, p.log_n > p.stages + 3, p.log_n <= 27.
/// Safety: the tile has (9 << p.stages) + 576 words.
[[max_total_threads_per_threadgroup(1024)]]
kernel void ntt_tall_runs(device const Fp* src [[buffer(0)]],
                          device Fp* dst [[buffer(1)]],
                          device const Fp* roots [[buffer(2)]],
                          constant NttTallParams& p [[buffer(3)]],
                          threadgroup uint* tile [[threadgroup(0)]],
                          uint tid [[thread_index_in_threadgroup]],
                          uint tpg [[threads_per_threadgroup]],
                          uint group [[threadgroup_position_in_grid]]) {
#define TALL_CALL(R, Q0, Q1, Q2) \
    if (p.stages == R) tall_runs_pass<R, Q0, Q1, Q2, 0u>(src, dst, roots, p, tile, group, tid, tpg);
    TALL_CALL(12, 4, 4, 4)
    TALL_SHAPES(TALL_CALL)
#undef TALL_CALL
}
