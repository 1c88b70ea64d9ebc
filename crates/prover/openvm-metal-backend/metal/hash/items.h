#pragma once
// Items that a thread combines in a Merkle tree, whatever the hash.
#include "../field/lane_ops.h"

/// Item `u` of the 2^log_fold items that thread g combines.
inline index_l merkle_item(gid_l g, uint log_stride, uint log_fold, uint u) {
    ulong mask = (1ul << log_stride) - 1ul;
#if LANE_WIDTH > 1
    return index_l(((((g.base >> log_stride) << log_fold) + u) << log_stride) + (g.base & mask), g.step);
#else
    return ((((ulong(g) >> log_stride) << log_fold) + u) << log_stride) + (ulong(g) & mask);
#endif
}
