#include "../hash/poseidon2.h"
#include "../field/lane_ops.h"
#include "offer.h"

/// Rust twin: src/params/grind.rs.
struct GrindParams {
    Fp state[16];   // sponge before the witness is absorbed
    uint position;  // of the witness in the rate, 0..8
    uint mask;      // 2^bits - 1
    uint start;     // first candidate of the slice, a canonical integer
    uint threads;   // candidates in the slice
};

/// Tests the proof-of-work witnesses start + [0, threads): absorb the witness, permute once, squeeze. One permutation serves every absorb
/// position: `observe` permutes when the rate is full, `sample` when it is not, and both squeeze cell 7;
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
        FpL witness = fp_from_u32(index + p.start);
        FpL s[16];
        MSL_UNROLL for (uint k = 0; k < 16u; k++) s[k] = fp_lanes(p.state[k]);
        MSL_UNROLL for (uint k = 0; k < 8u; k++) {
            if (k == p.position) s[k] = witness;
        }
        poseidon2_permute_part(s, false, false);
        grind_offer(best, index, fp_to_u32(s[7]) & p.mask);
    }
}
