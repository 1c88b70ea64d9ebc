#include "../field/fp_ext.h"

/// Rust twin: src/params/bench.rs.
struct BenchParams {
    uint threads;
    uint rounds;
};

/// Peak of the field multiplier: 8 independent chains of `rounds` products in registers.
/// Cost: 8 * p.rounds products, 4 bytes per thread.
/// Lengths: out p.threads.
kernel void bench_fp_mul(device Fp* out [[buffer(0)]],
                         constant BenchParams& p [[buffer(1)]],
                         gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    index_l i = index_l(gid);
    FpL x = fp_from_u32(to_vec(i));
    FpL a = x, b = x + x, c = b + x, d = c + x, e = d + x, f = e + x, g = f + x, h = g + x;
    for (uint k = 0; k < p.rounds; k++) {
        a = a * x;
        b = b * x;
        c = c * x;
        d = d * x;
        e = e * x;
        f = f * x;
        g = g * x;
        h = h * x;
    }
    lane_store(out, i, ((a + b) + (c + d)) + ((e + f) + (g + h)));
}

/// Copy bandwidth: four words of a thread, `p.threads` apart, are on their way together.
/// Cost: 0 products, 32 bytes per thread.
/// Lengths: in, out 4 * p.threads.
kernel void bench_copy(device const uint* in [[buffer(0)]],
                       device uint* out [[buffer(1)]],
                       constant BenchParams& p [[buffer(2)]],
                       gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    index_l i = index_l(gid);
    uint_l x[4];
    MSL_UNROLL for (uint k = 0; k < 4u; k++) x[k] = lane_load(in, i + ulong(k) * p.threads);
    MSL_UNROLL for (uint k = 0; k < 4u; k++) lane_store(out, i + ulong(k) * p.threads, x[k]);
}
