#include "ntt.h"

/// A pass over rows that lie 2^log_low words apart: stages first .. first + stages of a transform in which more
/// than 2^4 words lie below them. The source may be the message of a zero-padded transform.
/// One threadgroup per tile of 2^stages rows x 16 words; reads and writes each word of the tile once.
/// Cost: 8 * p.stages << p.stages products, 128 << p.stages bytes per threadgroup.
/// Lengths: src (groups - 1 >> p.log_n + p.log_cells - p.stages - 4) * p.src_stride + (1 << p.log_message + p.log_cells),
/// dst (groups - 1 >> p.log_n + p.log_cells - p.stages - 4) * p.dst_stride + (1 << p.log_n + p.log_cells), roots 16384.
/// Requires: p.log_n + p.log_cells >= p.first + p.stages + 4, p.log_n + p.log_cells < 32, p.log_message <= p.log_n,
/// p.stages <= 8, p.skipped <= p.stages.
/// Safety: the radices of `p` are 1 to 4 and, with the skipped ones, make `stages` (docs/design/commit.md).
[[max_total_threads_per_threadgroup(256)]]
kernel void ntt_columns(device const Fp* src [[buffer(0)]],
                        device Fp* dst [[buffer(1)]],
                        device const Fp* roots [[buffer(2)]],
                        constant NttParams& p [[buffer(3)]],
                        tid_l tid [[thread_index_in_threadgroup]],
                        uint tpg [[threads_per_threadgroup]],
                        uint group [[threadgroup_position_in_grid]]) {
    threadgroup uint tile[4096];
    threadgroup uint factors[256];
    ntt_columns_pass(src, dst, roots, p, tile, factors, tid, tpg, group, false);
}

/// ntt_columns with source and destination in one place: a tile is read before it is written.
/// Cost: 8 * p.stages << p.stages products, 128 << p.stages bytes per threadgroup.
/// Lengths: data (groups - 1 >> p.log_n + p.log_cells - p.stages - 4) * max(p.src_stride, p.dst_stride) + (1 << p.log_n + p.log_cells), roots 16384.
/// Requires: p.log_n + p.log_cells >= p.first + p.stages + 4, p.log_n + p.log_cells < 32, p.log_message <= p.log_n,
/// p.stages <= 8, p.skipped <= p.stages.
/// Safety: the radices of `p` are 1 to 4 and, with the skipped ones, make `stages` (docs/design/commit.md).
[[max_total_threads_per_threadgroup(256)]]
kernel void ntt_columns_in_place(device Fp* data [[buffer(0)]],
                                 device const Fp* roots [[buffer(1)]],
                                 constant NttParams& p [[buffer(2)]],
                                 tid_l tid [[thread_index_in_threadgroup]],
                                 uint tpg [[threads_per_threadgroup]],
                                 uint group [[threadgroup_position_in_grid]]) {
    threadgroup uint tile[4096];
    threadgroup uint factors[256];
    ntt_columns_pass(data, data, roots, p, tile, factors, tid, tpg, group, true);
}

/// The last pass: stages first .. log_n, on runs of 2^stages neighbouring elements, and the bit reversal.
/// One threadgroup per 16 words x 2^stages rows, runs whose reversed numbers are neighbours; reads and writes each
/// word once (runs of 2^stages elements read, 64 bytes written); one product per word for the factors and one for
/// the scale. The source is not the destination.
/// Cost: 8 * p.stages + 32 << p.stages products, 128 << p.stages bytes per threadgroup.
/// Lengths: src (groups - 1 >> p.first + p.log_cells - 4) * p.src_stride + (1 << p.log_message + p.log_cells),
/// dst (groups - 1 >> p.first + p.log_cells - 4) * p.dst_stride + (1 << p.first + p.stages + p.log_cells), roots 16384.
/// Requires: p.first + p.log_cells >= 4, p.log_cells <= 2, p.first + p.stages == p.log_n, p.log_n + p.log_cells < 32,
/// p.log_message <= p.log_n, p.stages <= 8, p.skipped <= p.stages.
/// Safety: the radices of `p` are 1 to 4 and, with the skipped ones, make `stages` (docs/design/commit.md).
[[max_total_threads_per_threadgroup(256)]]
kernel void ntt_chunks(device const Fp* src [[buffer(0)]],
                       device Fp* dst [[buffer(1)]],
                       device const Fp* roots [[buffer(2)]],
                       constant NttParams& p [[buffer(3)]],
                       tid_l tid [[thread_index_in_threadgroup]],
                       uint tpg [[threads_per_threadgroup]],
                       uint group [[threadgroup_position_in_grid]]) {
    threadgroup uint tile[4096];
    threadgroup uint columns[512];
    uint r = p.stages, s = p.first, thread_ = ntt_thread(tid), log_runs = 4u - p.log_cells;
    uint block = group & ((1u << (s - log_runs)) - 1u);
    ulong column = group >> (s - log_runs);
    uint mask = (1u << (p.log_message + p.log_cells)) - 1u;
    device const Fp* from = src + column * p.src_stride;
    device Fp* to = dst + column * p.dst_stride;
    // Run h holds the elements with reversed top bits (block << log_runs) + h.
#if LANE_WIDTH > 1
    device const uint* runs[NTT_COLUMNS];
    for (uint h = 0; h < (1u << log_runs); h++) {
        uint hi = reverse_bits((block << log_runs) + h) >> (32u - s);
        runs[h] = (device const uint*)(from + ((hi << (r + p.log_cells)) & mask));
    }
    // The runs of the next tile, as above.
    for (uint h = 0; h < (1u << log_runs); h++) {
        uint hi = reverse_bits(((block + 1u) << log_runs) + h) >> (32u - s);
        device const Fp* run = from + ((hi << (r + p.log_cells)) & mask);
        for (uint w = 0; w < (1u << (r + p.log_cells)); w += NTT_COLUMNS) __builtin_prefetch(run + w);
    }
    uint run_mask = min(mask, (1u << (r + p.log_cells)) - 1u);
    ntt_load_runs(tile, runs, r, p.log_cells, run_mask);
    for (uint c = 0; c < NTT_COLUMNS; c += LANE_WIDTH) {
        uint_l hi = reverse_bits(uint_l(block << log_runs) + (to_vec(NTT_LANES(c)) >> p.log_cells)) >> uint_l(32u - s);
        for (uint t = 0; t < r; t++) {
            uint_l j = hi << uint_l(t);
            FpL y = lane_gather(roots, j & uint_l((1u << NTT_LOG_TABLE) - 1u));
            if (s + t > NTT_LOG_TABLE) y = y * lane_gather(roots + (1u << NTT_LOG_TABLE), j >> uint_l(NTT_LOG_TABLE));
            ntt_put(columns, 16u + t, c, y);
            if (t < 4u) for (uint m = 0; m < (1u << t); m++) ntt_put(columns, (1u << t) + m, c, y * roots[m]);
        }
    }
#else
    bool one_run_each = tpg == 1u << r && p.log_cells == 0u;  // all reads before the first use
    if (one_run_each) {
        uint v[NTT_COLUMNS];
        MSL_UNROLL for (uint h = 0; h < NTT_COLUMNS; h++) {
            v[h] = from[(((reverse_bits((block << log_runs) + h) >> (32u - s)) << r) + thread_) & mask].v;
        }
        MSL_UNROLL for (uint h = 0; h < NTT_COLUMNS; h++) tile[ntt_at(thread_, h)] = v[h];
    }
    for (uint i = one_run_each ? NTT_COLUMNS << r : thread_; i < (NTT_COLUMNS << r); i += tpg) {
        uint h = i >> (r + p.log_cells), w = i & ((1u << (r + p.log_cells)) - 1u);
        uint hi = reverse_bits((block << log_runs) + h) >> (32u - s);
        tile[ntt_at(w >> p.log_cells, (h << p.log_cells) + (w & ((1u << p.log_cells) - 1u)))] = from[((hi << (r + p.log_cells)) + w) & mask].v;
    }
    for (uint i = thread_; i < NTT_COLUMNS * r; i += tpg) {
        uint t = i / NTT_COLUMNS, col = i & (NTT_COLUMNS - 1u);
        uint hi = reverse_bits((block << log_runs) + (col >> p.log_cells)) >> (32u - s);
        Fp y = ntt_root(roots, hi << t);
        ntt_put(columns, 16u + t, col, y);
        if (t < 4u) for (uint m = 0; m < (1u << t); m++) ntt_put(columns, (1u << t) + m, col, y * roots[m]);
    }
#endif
    threadgroup_barrier(mem_flags::mem_threadgroup);
#if LANE_WIDTH == 1
#define NTT_SHAPE(R, Q0, Q1)                                                                                              \
    if (r == R && p.skipped == 0u) {                                                                                      \
        ntt_chunks_round<Q0, 0, R>(to, tile, columns, roots, p, 0u, block * NTT_COLUMNS, thread_, tpg);                   \
        threadgroup_barrier(mem_flags::mem_threadgroup);                                                                  \
        ntt_chunks_round<Q1, Q0, R>(to, tile, columns, roots, p, Q0, block * NTT_COLUMNS, thread_, tpg);                  \
        return;                                                                                                           \
    }
    NTT_SHAPE(8, 4, 4)
    NTT_SHAPE(7, 4, 3)
    NTT_SHAPE(6, 3, 3)
#undef NTT_SHAPE
#endif
    uint t = p.skipped;
    for (uint radices = p.radices; radices != 0u; radices >>= 4) {
        switch (radices & 15u) {
            case 1: ntt_chunks_round<1>(to, tile, columns, roots, p, t, block * NTT_COLUMNS, thread_, tpg); break;
            case 2: ntt_chunks_round<2>(to, tile, columns, roots, p, t, block * NTT_COLUMNS, thread_, tpg); break;
            case 3: ntt_chunks_round<3>(to, tile, columns, roots, p, t, block * NTT_COLUMNS, thread_, tpg); break;
            default: ntt_chunks_round<4>(to, tile, columns, roots, p, t, block * NTT_COLUMNS, thread_, tpg); break;
        }
        t += radices & 15u;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
#if LANE_WIDTH > 1
    lane_stream_end();
#endif
}

/// Whole transforms of size 2^stages <= 256, `sets` tiles of 2^(4 - log_cells) columns per threadgroup.
/// Reads the messages and writes every word once, one product per word for the scale. A threadgroup reads its
/// columns before it writes them.
/// Cost: p.sets * (8 * p.stages + 16) << p.stages products, 128 * p.sets << p.stages bytes per threadgroup.
/// Lengths: data (p.columns - 1) * p.dst_stride + (1 << p.stages + p.log_cells), roots 16384.
/// Requires: p.sets << p.stages <= 256, p.log_cells <= 2, p.log_message <= p.stages, p.skipped <= p.stages.
/// Safety: the radices of `p` are 1 to 4 and, with the skipped ones, make `stages` (docs/design/commit.md).
[[max_total_threads_per_threadgroup(256)]]
kernel void ntt_small(device Fp* data [[buffer(0)]],
                      device const Fp* roots [[buffer(1)]],
                      constant NttParams& p [[buffer(2)]],
                      tid_l tid [[thread_index_in_threadgroup]],
                      uint tpg [[threads_per_threadgroup]],
                      uint group [[threadgroup_position_in_grid]]) {
    threadgroup uint tile[4096];
    threadgroup uint factors[256];
    uint r = p.stages, thread_ = ntt_thread(tid), log_runs = 4u - p.log_cells, log_words = r + p.log_cells;
    uint mask = (1u << (p.log_message + p.log_cells)) - 1u;
    uint first = group * (p.sets << log_runs);   // column
#if LANE_WIDTH > 1
    for (uint set = 0; set < p.sets; set++) {
        device const uint* runs[NTT_COLUMNS];
        for (uint h = 0; h < (1u << log_runs); h++) {
            uint column = first + (set << log_runs) + h;
            runs[h] = column < p.columns ? (device const uint*)(data + column * p.dst_stride) : nullptr;
        }
        ntt_load_runs(tile + (set << r) * NTT_COLUMNS, runs, r, p.log_cells, mask);
    }
#else
    for (uint i = thread_; i < p.sets * (NTT_COLUMNS << r); i += tpg) {
        uint run = i >> log_words, w = i & ((1u << log_words) - 1u), h = run & ((1u << log_runs) - 1u);
        threadgroup uint* set = tile + ((run >> log_runs) << r) * NTT_COLUMNS;
        uint column = first + run;
        if (column < p.columns) {
            set[ntt_at(w >> p.log_cells, (h << p.log_cells) + (w & ((1u << p.log_cells) - 1u)))] = data[column * p.dst_stride + (w & mask)].v;
        }
    }
#endif
    ntt_fill_factors(factors, roots, 0u, r, tid, tpg);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint t = p.skipped;
    for (uint radices = p.radices; radices != 0u; radices >>= 4) {
        switch (radices & 15u) {
            case 1: ntt_small_round<1>(tile, factors, p, t, thread_, tpg); break;
            case 2: ntt_small_round<2>(tile, factors, p, t, thread_, tpg); break;
            case 3: ntt_small_round<3>(tile, factors, p, t, thread_, tpg); break;
            default: ntt_small_round<4>(tile, factors, p, t, thread_, tpg); break;
        }
        t += radices & 15u;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
#if LANE_WIDTH > 1
    for (uint set = 0; set < p.sets; set++) {
        device uint* runs[NTT_COLUMNS];
        for (uint h = 0; h < (1u << log_runs); h++) {
            uint column = first + (set << log_runs) + h;
            runs[h] = column < p.columns ? (device uint*)(data + column * p.dst_stride) : nullptr;
        }
        ntt_store_runs_reversed(tile + (set << r) * NTT_COLUMNS, runs, r, p.log_cells);
    }
#else
    for (uint i = thread_; i < p.sets * (NTT_COLUMNS << r); i += tpg) {
        uint run = i >> log_words, w = i & ((1u << log_words) - 1u), h = run & ((1u << log_runs) - 1u);
        threadgroup const uint* set = tile + ((run >> log_runs) << r) * NTT_COLUMNS;
        uint column = first + run;
        if (column < p.columns) {
            uint row = ntt_run_row(w >> p.log_cells, r, true);
            data[column * p.dst_stride + w] = Fp{set[ntt_at(row, (h << p.log_cells) + (w & ((1u << p.log_cells) - 1u)))]};
        }
    }
#endif
}
