#pragma once
// The three passes of the batched NTT; see tile.h for the transform and docs/design/commit.md for the plan.
#include "tile.h"

/// Cooperative fill of factors[2^t + m] = z[(hi << t) + m], t < stages, m < 2^t: 2^stages - 1 words.
inline void ntt_fill_factors(threadgroup uint* factors, device const Fp* roots, uint hi, uint stages, tid_l tid, uint tpg) {
#if LANE_WIDTH > 1
    for (uint t = 0; t < stages; t++) {
        Fp base = ntt_root(roots, hi << t);
        // Up to LANE_WIDTH - 1 words too many, which the next t overwrites.
        for (uint m = 0; m < (1u << t); m += LANE_WIDTH) {
            lane_store(factors, NTT_LANES((1u << t) + m), (lane_load(roots, NTT_LANES(m)) * base).v);
        }
    }
#else
    for (uint q = tid; q < (1u << stages); q += tpg) {
        if (q == 0u) continue;
        uint t = 31u - clz(q);
        factors[q] = (ntt_root(roots, hi << t) * roots[q - (1u << t)]).v;
    }
#endif
}

// Rounds know their shape at compile time on GPUs where that is one of the usual ones: a tile address then costs
// one operation instead of six. Words within a column fit into 32 bits.
constant constexpr int NTT_ANY = -1;

/// One round of a pass over rows that are a fixed distance apart in memory; T, R: the values of t and r, if known.
template <uint Q, int T = NTT_ANY, int R = NTT_ANY>
inline void ntt_columns_round(device const Fp* src, device Fp* dst, threadgroup uint* tile, threadgroup const uint* factors, uint t, uint r,
                              uint log_low, bool from_memory, uint src_mask, uint at, uint thread_, uint tpg) {
    if (T != NTT_ANY) t = uint(T);
    if (R != NTT_ANY) r = uint(R);
    uint work = (NTT_COLUMNS << r) >> Q;
    for (uint i = thread_; i < work; i += tpg) {
        uint col = i & (NTT_COLUMNS - 1u);
        NttItem item = ntt_item<Q>(i / NTT_COLUMNS, t, r);
        FpL x[1u << Q];
        MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) {
            uint row = item.first + (k << item.log_step);
            x[k] = from_memory ? ntt_source(src, at + (row << log_low) + col, src_mask) : ntt_get(tile, row, col);
        }
        ntt_butterflies<Q>(x, factors, t, item.block);
        if (t + Q == r) {
            MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) {
                uint row = item.first + (k << item.log_step);
                lane_store(dst, NTT_LANES(at + (row << log_low) + col), x[k]);
            }
        } else {
            MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) ntt_put(tile, item.first + (k << item.log_step), col, x[k]);
        }
    }
}

#if LANE_WIDTH == 1
/// A pass of a usual shape: 4 stages from stage S on, then Q; each thread has 16 words, which it reads before
/// anything else.
template <int S, uint Q, int R>
inline void ntt_columns_two_rounds(device const Fp* src, device Fp* dst, device const Fp* roots, threadgroup uint* tile,
                                   threadgroup uint* factors, uint hi, uint log_low, uint mask, uint at, uint tid, uint tpg) {
    uint col = tid & (NTT_COLUMNS - 1u);
    NttItem item = ntt_item<4>(tid / NTT_COLUMNS, uint(S), uint(R));
    FpL x[16];
    MSL_UNROLL for (uint k = 0; k < 16u; k++) {
        x[k] = ntt_source(src, at + ((item.first + (k << item.log_step)) << log_low) + col, mask);
    }
    ntt_fill_factors(factors, roots, hi, uint(R), tid, tpg);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ntt_butterflies<4>(x, factors, uint(S), item.block);
    MSL_UNROLL for (uint k = 0; k < 16u; k++) ntt_put(tile, item.first + (k << item.log_step), col, x[k]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ntt_columns_round<Q, S + 4, R>(src, dst, tile, factors, uint(S) + 4u, uint(R), log_low, false, mask, at, tid, tpg);
}
#endif

/// A pass over rows that are far apart: the tile of one threadgroup. In place, the words of a zero-padded message
/// that several threads of a single round read are read into the tile before any is written.
inline void ntt_columns_pass(device const Fp* src, device Fp* dst, device const Fp* roots, constant NttParams& p, threadgroup uint* tile,
                             threadgroup uint* factors, tid_l tid, uint tpg, uint group, bool in_place) {
    uint r = p.stages, log_low = p.log_n - p.first - r + p.log_cells, thread_ = ntt_thread(tid);
    uint low = (group & ((1u << (log_low - 4u)) - 1u)) * NTT_COLUMNS;
    uint rest = group >> (log_low - 4u);
    uint hi = rest & ((1u << p.first) - 1u);
    ulong column = rest >> p.first;
    uint at = (hi << (r + log_low)) + low;
    uint mask = (1u << (p.log_message + p.log_cells)) - 1u;
    device const Fp* from = src + column * p.src_stride;
    device Fp* to = dst + column * p.dst_stride;
#if LANE_WIDTH > 1
    // The tile beside this one: no processor foresees rows that are pages apart.
    for (uint row = 0; row < (1u << r); row++) __builtin_prefetch(from + ((at + (row << log_low) + NTT_COLUMNS) & mask), 1);
#endif
    if (p.radices == 0u) {
        for (uint i = thread_; i < (NTT_COLUMNS << r); i += tpg) {
            uint word = at + ((i / NTT_COLUMNS) << log_low) + (i & (NTT_COLUMNS - 1u));
            lane_store(to, NTT_LANES(word), ntt_source(from, word, mask));
        }
        return;
    }
#if LANE_WIDTH == 1
#define NTT_SHAPE(R, S, Q)                                                                                      \
    if (r == R && p.skipped == S && tpg == (NTT_COLUMNS << R) >> 4) {                                           \
        ntt_columns_two_rounds<S, Q, R>(from, to, roots, tile, factors, hi, log_low, mask, at, tid, tpg);       \
        return;                                                                                                 \
    }
    NTT_SHAPE(8, 0, 4)
    NTT_SHAPE(8, 1, 3)
    NTT_SHAPE(7, 0, 3)
#undef NTT_SHAPE
#endif
    bool staged = in_place && p.skipped != 0u && (p.radices >> 4) == 0u;
    if (staged) {
        for (uint i = thread_; i < (NTT_COLUMNS << r); i += tpg) {
            uint row = i / NTT_COLUMNS, col = i & (NTT_COLUMNS - 1u);
            ntt_put(tile, row, col, ntt_source(from, at + (row << log_low) + col, mask));
        }
    }
    ntt_fill_factors(factors, roots, hi, r, tid, tpg);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint t = p.skipped;
    for (uint radices = p.radices; radices != 0u; radices >>= 4) {
        bool from_memory = t == p.skipped && !staged;
        switch (radices & 15u) {
            case 1: ntt_columns_round<1>(from, to, tile, factors, t, r, log_low, from_memory, mask, at, thread_, tpg); break;
            case 2: ntt_columns_round<2>(from, to, tile, factors, t, r, log_low, from_memory, mask, at, thread_, tpg); break;
            case 3: ntt_columns_round<3>(from, to, tile, factors, t, r, log_low, from_memory, mask, at, thread_, tpg); break;
            default: ntt_columns_round<4>(from, to, tile, factors, t, r, log_low, from_memory, mask, at, thread_, tpg); break;
        }
        t += radices & 15u;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

/// Where a row of the last pass goes, in words: its number reversed.
inline uint ntt_chunks_out(uint row, uint r, constant NttParams& p) { return (reverse_bits(row) >> (32u - r)) << (p.first + p.log_cells); }
/// One round of the last pass; the rows of the tile are neighbours in memory.
template <uint Q, int T = NTT_ANY, int R = NTT_ANY>
inline void ntt_chunks_round(device Fp* dst, threadgroup uint* tile, threadgroup const uint* columns, device const Fp* roots, constant NttParams& p,
                             uint t, uint at, uint thread_, uint tpg) {
    uint r = R != NTT_ANY ? uint(R) : p.stages, work = (NTT_COLUMNS << r) >> Q;
    if (T != NTT_ANY) t = uint(T);
    for (uint i = thread_; i < work; i += tpg) {
        uint col = i & (NTT_COLUMNS - 1u);
        NttItem item = ntt_item<Q>(i / NTT_COLUMNS, t, r);
        FpL x[1u << Q];
        MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) x[k] = ntt_get(tile, item.first + (k << item.log_step), col);
        ntt_column_butterflies<Q>(x, columns, roots, col, t, item.block, t + Q <= 4u);
        bool last = t + Q == r;
#if LANE_WIDTH > 1
        // A row is a cache line if the strides are multiples of 16 words: it goes past the caches as a whole, when its last words are known.
        bool streamed = LANE_STREAMS && last && p.first + r + p.log_cells >= NTT_LOG_STREAMED;
        if (last && p.scale != 0u) {
            MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) x[k] = x[k] * Fp{p.scale};
        }
        if (streamed && col + LANE_WIDTH == NTT_COLUMNS) {
            MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) {
                uint row = item.first + (k << item.log_step), out = at + ntt_chunks_out(row, r, p);
                for (uint c = 0; c < col; c += LANE_WIDTH) lane_stream(dst, NTT_LANES(out + c), ntt_get(tile, row, c));
                lane_stream(dst, NTT_LANES(out + col), x[k]);
            }
            continue;
        }
        last = last && !streamed;
#else
        if (last && p.scale != 0u) {
            MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) x[k] = x[k] * Fp{p.scale};
        }
#endif
        MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) {
            uint row = item.first + (k << item.log_step);
            if (last) lane_store(dst, NTT_LANES(at + ntt_chunks_out(row, r, p) + col), x[k]);
            else ntt_put(tile, row, col, x[k]);
        }
    }
}

/// One round of a small transform, tile to tile, for `sets` tiles.
template <uint Q>
inline void ntt_small_round(threadgroup uint* tiles, threadgroup const uint* factors, constant NttParams& p, uint t, uint thread_, uint tpg) {
    uint r = p.stages, log_set = r - Q;
    uint work = (p.sets << log_set) * NTT_COLUMNS;
    for (uint i = thread_; i < work; i += tpg) {
        uint col = i & (NTT_COLUMNS - 1u), g = i / NTT_COLUMNS;
        threadgroup uint* tile = tiles + ((g >> log_set) << r) * NTT_COLUMNS;
        NttItem item = ntt_item<Q>(g & ((1u << log_set) - 1u), t, r);
        bool last = t + Q == r;
        FpL x[1u << Q];
        MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) x[k] = ntt_get(tile, item.first + (k << item.log_step), col);
        ntt_butterflies<Q>(x, factors, t, item.block);
        MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) {
            FpL v = last && p.scale != 0u ? x[k] * Fp{p.scale} : x[k];
            ntt_put(tile, item.first + (k << item.log_step), col, v);
        }
    }
}

/// Copies between memory and a tile whose 16 columns are 2^(4 - log_cells) runs of 2^r elements: element e of
/// run h is tile row e (row brev_r(e) if `reversed`), columns h * 2^log_cells onwards. One thread copies one word.
inline uint ntt_run_row(uint element, uint r, bool reversed) { return reversed && r != 0u ? reverse_bits(element) >> (32u - r) : element; }

#if LANE_WIDTH > 1
/// `runs[h]` is the first word of run h, already masked; `mask` limits words within a run; null runs are skipped.
inline void ntt_load_runs(threadgroup uint* tile, device const uint* const* runs, uint r, uint log_cells, uint mask) {
    uint words = 1u << (r + log_cells);
    if (log_cells == 0u && words >= LANE_WIDTH && mask + 1u >= LANE_WIDTH) {
        for (uint c = 0; c < NTT_COLUMNS; c += LANE_WIDTH) {
            for (uint w = 0; w < words; w += LANE_WIDTH) {
                uint_l::raw x[LANE_WIDTH];
                for (uint k = 0; k < LANE_WIDTH; k++) x[k] = runs[c + k] ? lane_load(runs[c + k], NTT_LANES(w & mask)).v : uint_l::raw{};
                msl_cells<uint>::split<LANE_WIDTH>(x);
                for (uint k = 0; k < LANE_WIDTH; k++) lane_store(tile, NTT_LANES(ntt_at(w + k, c)), uint_l::of(x[k]));
            }
        }
        return;
    }
    for (uint h = 0; h < (NTT_COLUMNS >> log_cells); h++) {
        if (!runs[h]) continue;
        for (uint w = 0; w < words; w++) tile[ntt_at(w >> log_cells, (h << log_cells) + (w & ((1u << log_cells) - 1u)))] = runs[h][w & mask];
    }
}
inline void ntt_store_runs_reversed(threadgroup const uint* tile, device uint* const* runs, uint r, uint log_cells) {
    uint words = 1u << (r + log_cells);
    if (log_cells == 0u && words >= LANE_WIDTH) {
        for (uint c = 0; c < NTT_COLUMNS; c += LANE_WIDTH) {
            for (uint w = 0; w < words; w += LANE_WIDTH) {
                uint_l::raw x[LANE_WIDTH];
                for (uint k = 0; k < LANE_WIDTH; k++) x[k] = lane_load(tile, NTT_LANES(ntt_at(ntt_run_row(w + k, r, true), c))).v;
                msl_cells<uint>::split<LANE_WIDTH>(x);
                for (uint k = 0; k < LANE_WIDTH; k++) if (runs[c + k]) lane_store(runs[c + k], NTT_LANES(w), uint_l::of(x[k]));
            }
        }
        return;
    }
    for (uint h = 0; h < (NTT_COLUMNS >> log_cells); h++) {
        if (!runs[h]) continue;
        for (uint w = 0; w < words; w++) runs[h][w] = tile[ntt_at(ntt_run_row(w >> log_cells, r, true), (h << log_cells) + (w & ((1u << log_cells) - 1u)))];
    }
}
#endif
