// Trace cells to the first pass of their codeword's transform, without writing the message.
#include "../ntt/tall.h"
#include "message.h"

constant constexpr uint ENCODE_LOG_CHUNK = 4u;   // a row of the tile is a chunk

/// Quarter `i & 3` of row `i >> 2`, 16 bytes: in memory, and its first byte in the tile. Four neighbouring threads read a row.
inline device const Fp* encode_source(device const Fp* range, uint i, uint log_low) { return range + (((i >> 2) << log_low) + 4u * (i & 3u)); }
inline uint encode_quarter(uint row, uint q) { return tall_at<ENCODE_LOG_CHUNK, false>(row, 4u * q); }
inline uint4 encode_load(threadgroup const uint* tile, uint at) { return *(threadgroup const uint4*)((threadgroup const uchar*)tile + at); }
inline void encode_store(threadgroup uint* tile, uint at, uint4 v) { *(threadgroup uint4*)((threadgroup uchar*)tile + at) = v; }
/// All quarters of 2^R rows to the tile. Rows 16 k apart are 1,024 k bytes apart there.
template <uint R> inline void encode_read(threadgroup uint* tile, device const Fp* range, uint log_low, uint tid, uint tpg) {
    if (tpg % 64u == 0u) {
        device const Fp* from = encode_source(range, tid, log_low);
        uint at = encode_quarter(tid >> 2, tid & 3u), step = (tpg >> 2) << log_low;
        MSL_ROLLED for (uint i = tid; i < (4u << R); i += tpg) {
            encode_store(tile, at, *(device const uint4*)from);
            at += tpg << 4;
            from += step;
        }
    } else {
        MSL_ROLLED for (uint i = tid; i < (4u << R); i += tpg) {
            encode_store(tile, encode_quarter(i >> 2, i & 3u), *(device const uint4*)encode_source(range, i, log_low));
        }
    }
}
/// The chunk in a row of the tile to its message. One thread a row.
inline void encode_row(threadgroup uint* tile, uint row) {
    Fp x[1u << ENCODE_LOG_CHUNK];
    MSL_UNROLL for (uint q = 0; q < 4u; q++) {
        uint4 v = encode_load(tile, encode_quarter(row, q));
        x[4u * q] = Fp{v.x};
        x[4u * q + 1u] = Fp{v.y};
        x[4u * q + 2u] = Fp{v.z};
        x[4u * q + 3u] = Fp{v.w};
    }
    commit_chunk_transform<ENCODE_LOG_CHUNK>(x, false);  // the last pass divides
    MSL_UNROLL for (uint q = 0; q < 4u; q++) {
        encode_store(tile, encode_quarter(row, q), uint4(x[4u * q].v, x[4u * q + 1u].v, x[4u * q + 2u].v, x[4u * q + 3u].v));
    }
}

/// The first pass on 2^R chunks, 2^log_low cells apart: cells into the tile, messages, then rounds of Q0, Q1, Q2 stages.
template <uint R, uint Q0, uint Q1, uint Q2>
inline void encode_pass(device const Fp* range, device Fp* code, device const Fp* roots, threadgroup uint* tile, TallColumns c, uint tid, uint tpg) {
    threadgroup uint* table = tile + (1u << (R + ENCODE_LOG_CHUNK));
    tall_fill_columns<R>(table, roots, c.hi, tid, tpg);
    encode_read<R>(tile, range, c.log_low, tid, tpg);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    MSL_ROLLED for (uint row = tid; row < (1u << R); row += tpg) encode_row(tile, row);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    tall_round<Q0, 0u, R, ENCODE_LOG_CHUNK, false>(tile, table, tid, tpg);
    tall_round<Q1, Q0, R, ENCODE_LOG_CHUNK, false>(tile, table, tid, tpg);
    tall_columns_store<Q2, R, ENCODE_LOG_CHUNK>(code, tile, table, c, tid, tpg);
}

/// `commit_message_4` without its division and `ntt_tall_columns` in one: columns of 2^p.log_message cells of a range, read as
/// evaluations, to what the last pass of their transform reads. One threadgroup per 2^p.stages chunks of 16 cells; a thread reads and
/// writes its words of the tile once, reading 16 bytes at a time; the tiles of all copies read the same chunks.
/// Registers: 40 per thread.
/// Cost: 8 * p.stages + 18 << p.stages products, (64 << p.stages) + (64 << p.stages >> p.log_n - p.log_message) bytes per threadgroup.
/// Lengths: range (groups - 1 >> p.log_n - p.stages - 4) * p.src_stride + (1 << p.log_message),
/// code (groups - 1 >> p.log_n - p.stages - 4) * p.dst_stride + (1 << p.log_n), roots 16384.
/// Requires: p.stages >= 8, p.stages <= 11, p.log_message >= p.stages + 4, p.log_message <= p.log_n, p.log_n <= 27,
/// p.log_n - p.log_message + p.stages <= 14, p.src_stride % 4 == 0, p.log_words == 4.
/// Safety: the tile has 18 << p.stages words, and the range begins at a multiple of 16 bytes.
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
