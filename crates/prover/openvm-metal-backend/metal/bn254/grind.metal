#include "../grind/offer.h"
#include "sponge.h"

/// Rust twin: src/params/bn254.rs.
struct Bn254GrindParams {
    uint state[24]; // three words of the sponge in memory's form, before the witness is absorbed
    uint base[8];   // the integer of the cells that share the witness's word
    uint position;  // of that word in the rate, 0 or 1
    uint shift;     // of the witness in it, 31 times the number of those cells
    uint mask;      // 2^bits - 1
    uint start;     // first candidate of the slice, a canonical integer
    uint threads;   // candidates in the slice
};

/// Tests the proof-of-work witnesses start + [0, threads): add the witness, times 2^shift, to the word of its cells, permute once, squeeze; the sample is
/// word 1 as an integer modulo BabyBear's prime, and its low `bits` bits must be zero. best = smallest index of a hit, which the host has set to
/// 2^32 - 1. Threads beyond a hit already found do nothing.
/// Registers: 128 per thread.
/// Cost: 242 bn254 products, 0 bytes per thread.
/// Lengths: best 1.
/// Requires: p.position <= 1, p.shift <= 217.
kernel void bn254_grind_slice(device atomic_uint* best [[buffer(0)]],
                              constant Bn254GrindParams& p [[buffer(1)]],
                              gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    index_l i = index_l(gid);
    if (lane_base(i) < ulong(atomic_load_explicit(best, memory_order_relaxed))) {
        uint_l index = to_vec(i);
        uint_l witness = index + p.start, s[24];
        MSL_UNROLL for (uint k = 0; k < 24u; k++) s[k] = uint_l(p.state[k]);
        uint place = p.shift >> 5, low = p.shift & 31u;
        MSL_UNROLL for (uint k = 0; k < 8u; k++) {
            uint_l bits = uint_l(p.base[k]);
            if (k == place) bits = bits | (witness << low);
            if (k == place + 1u && low != 0u) bits = bits | (witness >> (32u - low));
            if (p.position == 0u) s[k] = bits;
            else s[8u + k] = bits;
        }
        bn_permute<3>(s, 1u << p.position);
        bn_to_integer(s + 8u);
        uint_l rest = s[15];
        MSL_UNROLL for (uint k = 0; k < 7u; k++) {
            // rest 2^32 + the next word, modulo BabyBear's prime.
            FpL word = fp_from_u32(s[14u - k]);
            FpL shifted = fp_from_u32(rest);
            rest = (shifted + FpL{fp_to_u32(word)}).v;
        }
        grind_offer(best, index, rest & p.mask);
    }
}
