#include "tall_ext.h"

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

/// `ntt_tall_columns` of extension elements and few stages: 2^p.stages rows x 8 neighbouring elements if there are 8 stages, x 4 if there are 9. A thread
/// reads and writes whole elements. p.log_n, p.log_message and p.log_words count elements.
/// Registers: 56 per thread.
/// Cost: (p.stages << p.stages + p.log_words + 1) + (1 << p.stages) products,
/// (16 << p.stages + p.log_words) + (16 << p.stages + p.log_words >> p.log_n - p.log_message) bytes per threadgroup.
/// Lengths: src (groups - 1 >> p.log_n - p.stages - p.log_words) * p.src_stride + (4 << p.log_message),
/// dst (groups - 1 >> p.log_n - p.stages - p.log_words) * p.dst_stride + (4 << p.log_n), roots 16384.
/// Requires: p.stages >= 8, p.stages <= 9, p.log_words == 11 - p.stages, p.log_message >= p.stages + p.log_words, p.log_message <= p.log_n,
/// p.log_n <= 25, p.log_n - p.log_message + p.stages <= 14, p.src_stride % 4 == 0, p.dst_stride % 4 == 0.
/// Safety: the tile has 8704 words, or 10240 if p.stages is 9; src and dst begin at a multiple of 16 bytes.
[[max_total_threads_per_threadgroup(1024)]]
kernel void ntt_tall_columns_ext_small(device const Fp* src [[buffer(0)]],
                                       device Fp* dst [[buffer(1)]],
                                       device const Fp* roots [[buffer(2)]],
                                       constant NttTallParams& p [[buffer(3)]],
                                       threadgroup uint* tile [[threadgroup(0)]],
                                       uint tid [[thread_index_in_threadgroup]],
                                       uint tpg [[threads_per_threadgroup]],
                                       uint group [[threadgroup_position_in_grid]]) {
    if (p.stages == 8u) tall_ext_columns<8u, 3u>(src, dst, roots, p, tile, group, tid, tpg);
    if (p.stages == 9u) tall_ext_columns<9u, 2u>(src, dst, roots, p, tile, group, tid, tpg);
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

/// `ntt_tall_runs` of extension elements and more than 9 stages: two runs of them for each threadgroup. It is a kernel of its own: with the text
/// for base elements beside it, each launch begins later.
/// Registers: 48 per thread.
/// Cost: (p.stages + 2) << p.stages + 2 products, 64 << p.stages bytes per threadgroup.
/// Lengths: src (groups - 1 >> p.log_n - p.stages - 1) * p.src_stride + (4 << p.log_n),
/// dst (groups - 1 >> p.log_n - p.stages - 1) * p.dst_stride + (4 << p.log_n), roots 16384.
/// Requires: p.stages >= 10, p.stages <= 12, p.log_words == 3, p.log_cells == 2, p.log_n > p.stages + 1, p.log_n <= 25.
/// Safety: the tile has (9 << p.stages) + 144 words.
[[max_total_threads_per_threadgroup(1024)]]
kernel void ntt_tall_runs_ext(device const Fp* src [[buffer(0)]],
                              device Fp* dst [[buffer(1)]],
                              device const Fp* roots [[buffer(2)]],
                              constant NttTallParams& p [[buffer(3)]],
                              threadgroup uint* tile [[threadgroup(0)]],
                              uint tid [[thread_index_in_threadgroup]],
                              uint tpg [[threads_per_threadgroup]],
                              uint group [[threadgroup_position_in_grid]]) {
    if (p.stages == 12u) tall_runs_pass<12, 4, 4, 4, 2u>(src, dst, roots, p, tile, group, tid, tpg);
    if (p.stages == 11u) tall_runs_pass<11, 4, 4, 3, 2u>(src, dst, roots, p, tile, group, tid, tpg);
    if (p.stages == 10u) tall_runs_pass<10, 4, 3, 3, 2u>(src, dst, roots, p, tile, group, tid, tpg);
}

/// `ntt_tall_runs` of extension elements and few stages, two runs of them for each threadgroup. A thread reads and writes whole elements;
/// p.log_words counts them.
/// Registers: 56 per thread.
/// Cost: (p.stages + 2) << p.stages + 2 products, 64 << p.stages bytes per threadgroup.
/// Lengths: src (groups - 1 >> p.log_n - p.stages - 1) * p.src_stride + (4 << p.log_n),
/// dst (groups - 1 >> p.log_n - p.stages - 1) * p.dst_stride + (4 << p.log_n), roots 16384.
/// Requires: p.stages >= 8, p.stages <= 9, p.log_words == 1, p.log_cells == 2, p.log_n > p.stages + 1, p.log_n <= 25, p.src_stride % 4 == 0,
/// p.dst_stride % 4 == 0.
/// Safety: the tile has (10 << p.stages) + 144 words; src and dst begin at a multiple of 16 bytes.
[[max_total_threads_per_threadgroup(1024)]]
kernel void ntt_tall_runs_ext_small(device const Fp* src [[buffer(0)]],
                                    device Fp* dst [[buffer(1)]],
                                    device const Fp* roots [[buffer(2)]],
                                    constant NttTallParams& p [[buffer(3)]],
                                    threadgroup uint* tile [[threadgroup(0)]],
                                    uint tid [[thread_index_in_threadgroup]],
                                    uint tpg [[threads_per_threadgroup]],
                                    uint group [[threadgroup_position_in_grid]]) {
    if (p.stages == 8u) tall_ext_runs<8u, 1u>(src, dst, roots, p, tile, group, tid, tpg);
    if (p.stages == 9u) tall_ext_runs<9u, 1u>(src, dst, roots, p, tile, group, tid, tpg);
}
