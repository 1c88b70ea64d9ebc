#pragma once
// Minimum over the threads of a dispatch that found a witness.
#include "../field/lane_ops.h"

/// Offers the index of every thread whose `hit` word is zero to the atomic minimum.
inline void grind_offer(device atomic_uint* best, uint_l index, uint_l hit) {
#if LANE_WIDTH > 1
    uint lowest = 0xffffffffu;
    for (uint k = 0; k < LANE_WIDTH; k++) {
        if (hit[k] == 0u && index[k] < lowest) lowest = index[k];
    }
    if (lowest != 0xffffffffu) atomic_fetch_min_explicit(best, lowest, memory_order_relaxed);
#else
    if (hit == 0u) atomic_fetch_min_explicit(best, index, memory_order_relaxed);
#endif
}
