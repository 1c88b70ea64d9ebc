#pragma once
// A Poseidon2 digest: eight words, the same layout as Rust's `[BabyBear; 8]` (4-byte alignment).
#include "baby_bear.h"

struct Digest {
    Fp d[8];
};

/// Store eight lane values as W consecutive-index digests p[i.base + k * i.step].
inline void lane_store_digest(device Digest* p, index_l i, thread const FpL* d) {
    device uint* w = (device uint*)p;
    index_l j = i * 8u;
    for (uint k = 0; k < 8u; k++) lane_store(w, j + k, d[k].v);
}
/// Load W digests into eight lane values.
inline void lane_load_digest(device const Digest* p, index_l i, thread FpL* d) {
    device const uint* w = (device const uint*)p;
    index_l j = i * 8u;
    for (uint k = 0; k < 8u; k++) d[k] = FpL(lane_load(w, j + k));
}
