#pragma once
// Folds over a threadgroup.
#include "elements.h"

// Codes of `ReduceOp`. `a` is never NaN for the smallest and the largest: NaNs are left out.
template <typename T> inline T fold(uint op, T a, T b) {
    switch (op) {
        case 0: return wrap_add(a, b);
        case 1: return wrap_mul(a, b);
        case 2: return b < a ? b : a;
        default: return b > a ? b : a;
    }
}

// Fold of a value of each thread in scratch[0..tpg]; the same in every thread. Any number of threads.
template <typename T>
inline T group_fold(uint op, T value, threadgroup T* scratch, uint tid, uint tpg) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    scratch[tid] = value;
    uint width = 1;
    while (width < tpg) width *= 2;
    for (width /= 2; width > 0; width /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (tid < width && tid + width < tpg) scratch[tid] = fold(op, scratch[tid], scratch[tid + width]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return scratch[0];
}
