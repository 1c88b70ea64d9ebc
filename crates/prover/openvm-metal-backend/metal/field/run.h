#pragma once
// Elements that one thread has side by side: N words in memory, N lane vectors in registers.
#include "baby_bear.h"

/// N neighbouring elements, which begin at a multiple of their own bytes or of 16: a load or a store for each four of them.
template <typename U, uint N>
struct alignas(sizeof(U) >= 16 ? sizeof(U) : N < 4 ? 4 * N : 16) FpRunT {
    FpT<U> c[N];
};
template <uint N> struct lane_type<FpRunT<uint, N>> { typedef FpRunT<uint_l, N> type; };
