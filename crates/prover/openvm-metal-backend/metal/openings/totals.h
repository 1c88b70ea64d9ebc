#pragma once
// Sums of threadgroups that a message is made of.
#include "../field/fp_ext.h"

// Totals of a message at most.
constant constexpr uint OPENINGS_TOTALS = 2u;
// SIMD-groups of a threadgroup at most: of 8 threads or more, or of one.
constant constexpr uint OPENINGS_SIMD_GROUPS = 32u;

/// Adds up the sums of `groups` threadgroups, of which `partials` has `n` each, and writes the totals to `log` and, word by word, to
/// `words`. The threadgroup passes two barriers; `sums` has OPENINGS_TOTALS * OPENINGS_SIMD_GROUPS elements.
inline void openings_totals(device const FpExt* partials, uint groups, uint n, threadgroup FpExt* sums, threadgroup Fp* words,
                            device FpExt* log, uint tid, uint tpg, uint width) {
    uint simd_groups = max(tpg / width, 1u);
    for (uint k = 0; k < OPENINGS_TOTALS; k++) {
        FpExt total = fpext_zero<uint>();
        for (uint i = tid; i < groups && k < n; i += tpg) total = total + partials[i * n + k];
        total = fpext_simd_sum(total, width);
        if (tid % width == 0u) sums[k * simd_groups + tid / width] = total;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = tid; k < n; k += tpg) {
        FpExt total = sums[k * simd_groups];
        for (uint g = 1; g < simd_groups; g++) total = total + sums[k * simd_groups + g];
        for (uint j = 0; j < 4u; j++) words[4u * k + j] = total.c[j];
        log[k] = total;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}
