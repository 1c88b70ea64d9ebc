// Trace cells to the first pass of their codeword's transform, without writing the message.
#include "../ntt/tall.h"
#include "message.h"

constant constexpr uint ENCODE_LOG_CHUNK = 4u;   // a row of the tile is a chunk

/// One chunk of 16 words in registers.
struct EncodeChunk {
    Fp c[16];
};
inline void encode_load(device const Fp* range, uint at, thread EncodeChunk& x) {
    device const uint4* from = (device const uint4*)(range + at);
    MSL_UNROLL for (uint q = 0; q < 4u; q++) {
        uint4 v = from[q];
        x.c[4u * q] = Fp{v.x};
        x.c[4u * q + 1u] = Fp{v.y};
        x.c[4u * q + 2u] = Fp{v.z};
        x.c[4u * q + 3u] = Fp{v.w};
    }
}
/// The message of a chunk into row `row` of the tile, by quarters.
inline void encode_put(threadgroup uint* tile, uint row, thread EncodeChunk& x) {
    commit_chunk_transform<ENCODE_LOG_CHUNK>(x.c);
    uint at = tall_at<TALL_LOG_COLUMNS, false>(row, 0u);
    MSL_UNROLL for (uint q = 0; q < 4u; q++) {
        uint4 v = uint4(x.c[4u * q].v, x.c[4u * q + 1u].v, x.c[4u * q + 2u].v, x.c[4u * q + 3u].v);
        ((threadgroup uint4*)tile)[(at ^ (4u * q)) >> 2] = v;
    }
}

/// The first pass on 2^R chunks, 2^log_low cells apart: messages into the tile, then rounds of Q0, Q1, Q2 stages.
template <uint R, uint Q0, uint Q1, uint Q2>
inline void encode_pass(device const Fp* range, device Fp* code, device const Fp* roots, threadgroup uint* tile, TallColumns c, uint tid, uint tpg) {
    threadgroup uint* table = tile + (1u << (R + TALL_LOG_COLUMNS));
    if (tpg == 1u << (R - 1u)) {
        // Two rows for each thread, all of them read before anything is computed.
        EncodeChunk x, y;
        encode_load(range, tid << c.log_low, x);
        encode_load(range, (tid + tpg) << c.log_low, y);
        tall_fill_columns<R>(table, roots, c.hi, tid, tpg);
        encode_put(tile, tid, x);
        encode_put(tile, tid + tpg, y);
    } else {
        tall_fill_columns<R>(table, roots, c.hi, tid, tpg);
        MSL_ROLLED for (uint row = tid; row < (1u << R); row += tpg) {
            EncodeChunk x;
            encode_load(range, row << c.log_low, x);
            encode_put(tile, row, x);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    tall_round<Q0, 0u, R, TALL_LOG_COLUMNS, false>(tile, table, tid, tpg);
    tall_round<Q1, Q0, R, TALL_LOG_COLUMNS, false>(tile, table, tid, tpg);
    tall_columns_store<Q2, R>(code, tile, table, c, tid, tpg);
}

/// `commit_message_4` and `ntt_tall_columns` in one: columns of 2^p.log_message cells of a range, read as evaluations, to what the last
/// pass of their transform reads. One threadgroup per 2^p.stages chunks of 16 cells; a thread reads whole chunks, 64 bytes each, and writes
/// as many words as it reads, 64 bytes in a row by 16 threads; the tiles of all copies read the same chunks.
/// Cost: 8 * p.stages + 25 << p.stages products, (64 << p.stages) + (64 << p.stages >> p.log_n - p.log_message) bytes per threadgroup.
/// Lengths: range (groups - 1 >> p.log_n - p.stages - 4) * p.src_stride + (1 << p.log_message),
/// code (groups - 1 >> p.log_n - p.stages - 4) * p.dst_stride + (1 << p.log_n), roots 16384.
/// Requires: p.stages >= 8, p.stages <= 11, p.log_message >= p.stages + 4, p.log_message <= p.log_n, p.log_n <= 27,
/// p.log_n - p.log_message + p.stages <= 14, p.src_stride % 4 == 0.
/// Safety: the tile has 17 << p.stages words, and the range begins at a multiple of 16 bytes.
[[max_total_threads_per_threadgroup(1024)]]
kernel void commit_encode_columns(device const Fp* range [[buffer(0)]],
                                  device Fp* code [[buffer(1)]],
                                  device const Fp* roots [[buffer(2)]],
                                  constant NttTallParams& p [[buffer(3)]],
                                  threadgroup uint* tile [[threadgroup(0)]],
                                  uint tid [[thread_index_in_threadgroup]],
                                  uint tpg [[threads_per_threadgroup]],
                                  uint group [[threadgroup_position_in_grid]]) {
    TallColumns c = tall_columns(p, group);
    device const Fp* from = range + (c.column * p.src_stride + c.source);
    device Fp* to = code + (c.column * p.dst_stride + c.target);
#define ENCODE_CALL(R, Q0, Q1, Q2) \
    if (p.stages == R) encode_pass<R, Q0, Q1, Q2>(from, to, roots, tile, c, tid, tpg);
    TALL_SHAPES(ENCODE_CALL)
#undef ENCODE_CALL
}
