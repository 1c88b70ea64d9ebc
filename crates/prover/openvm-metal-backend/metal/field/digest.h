#pragma once
// A Poseidon2 digest: eight words, the same layout as Rust's `[BabyBear; 8]` (4-byte alignment).
#include "baby_bear.h"

template <typename U>
struct DigestT {
    FpT<U> d[8];
};
typedef DigestT<uint> Digest;
typedef DigestT<uint_l> DigestL;
#if LANE_WIDTH > 1
template <> struct lane_type<Digest> { typedef DigestL type; };
#endif
