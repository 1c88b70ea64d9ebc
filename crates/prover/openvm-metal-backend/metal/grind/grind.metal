#include "../hash/poseidon2.h"
#include "../field/lane_ops.h"
#include "../transcript/state.h"
#include "offer.h"

/// Rust twin: src/params/grind.rs.
struct GrindParams {
    Fp state[16];   // sponge before the witness is absorbed
    uint position;  // of the witness in the rate, 0..8
    uint mask;      // 2^bits - 1
    uint start;     // first candidate of the slice, a canonical integer
    uint threads;   // candidates in the slice
};

/// Rust twin: src/params/grind.rs.
struct GrindSpongeParams {
    uint mask;     // 2^bits - 1
    uint slot;     // where the witness goes
    uint first;    // candidate
    uint end;      // candidates from the first one on are a multiple of the threads
    uint threads;
    uint unused[3];
};

/// Tests a candidate, the element at `position` of the sponge's cells: one permutation serves every absorb position. `observe` permutes
/// when the rate is full, `sample` when it is not, and both squeeze cell 7.
inline uint_l grind_sample(thread const Fp* cells, uint position, FpL witness) {
    FpL s[16];
    MSL_UNROLL for (uint k = 0; k < 16u; k++) s[k] = fp_lanes(cells[k]);
    MSL_UNROLL for (uint k = 0; k < 8u; k++) {
        if (k == position) s[k] = witness;
    }
    poseidon2_permute_part(s, false, false);
    return fp_to_u32(s[7]);
}

/// Tests the proof-of-work witnesses start + [0, threads): absorb the witness, permute once, squeeze;
/// the low `bits` bits of the sample must be zero. best = smallest index of a hit, which the host has
/// set to 2^32 - 1. Threads beyond a hit already found do nothing.
/// Cost: 1 permutation, 0 bytes per thread.
/// Lengths: best 1.
kernel void grind_slice(device atomic_uint* best [[buffer(0)]],
                        constant GrindParams& p [[buffer(1)]],
                        gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    index_l i = index_l(gid);
    if (lane_base(i) < ulong(atomic_load_explicit(best, memory_order_relaxed))) {
        uint_l index = to_vec(i);
        Fp cells[16];
        MSL_UNROLL for (uint k = 0; k < 16u; k++) cells[k] = p.state[k];
        uint_l sample = grind_sample(cells, p.position, fp_from_u32(index + p.start));
        grind_offer(best, index, sample & p.mask);
    }
}

/// As `grind_slice` with the witnesses [p.first, p.end) for the sponge in device memory: best[p.slot] becomes the smallest one, if none of the
/// earlier ones is there. A thread tests each p.threads-th until it is past a hit. The cost is what the search takes on average: one
/// candidate in p.mask + 1 is a witness.
/// Cost: min(p.end - p.first, p.mask + 1) permutations, 80 bytes per launch.
/// Lengths: state 1, best p.slot + 1.
/// Requires: p.threads >= 1, p.end <= 2147483648, p.threads <= 2147483648.
kernel void grind_sponge(device const TranscriptState* state [[buffer(0)]],
                         device atomic_uint* best [[buffer(1)]],
                         constant GrindSpongeParams& p [[buffer(2)]],
                         gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    Fp cells[16];
    MSL_UNROLL for (uint k = 0; k < 16u; k++) cells[k] = state[0].cells[k];
    uint position = state[0].absorb_idx;
    for (uint first = p.first; first < p.end; first += p.threads) {
        index_l i = index_l(gid) + ulong(first);
        if (lane_base(i) >= ulong(atomic_load_explicit(best + p.slot, memory_order_relaxed))) break;
        uint_l index = to_vec(i);
        grind_offer(best + p.slot, index, grind_sample(cells, position, fp_from_u32(index)) & p.mask);
    }
}
