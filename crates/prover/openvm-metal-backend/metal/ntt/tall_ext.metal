#include "tall_ext.h"

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
