#pragma once
// Products of tiles of halves by one SIMD-group on the device's matrix units: SIMD-group matrices on Apple GPUs, tensor cores
// on NVIDIA GPUs. Factors go to threadgroup memory in octets, eight elements of a row; sums are `float` in blocks of 8 x 8.
#include "formats.h"

// A tile of a matrix whose rows are filled up to octets: its first row and column, and the size of the matrix.
struct Part {
    uint row, col, rows, cols;
};

// Place of an element of the matrix in memory, if it has that element.
inline bool is_inside(Part part, uint row, uint col) { return row < part.rows && col < part.cols; }
inline ulong place_of(Part part, uint row, uint col) { return ulong(row) * ((part.cols + 7) / 8 * 8) + col; }

#if MSL_PTX
// Steps in threadgroup memory, and how many of them are on their way while one is multiplied.
#define STAGES 3
#define AHEAD 2
// Floats of a SIMD-group through which its sums go to memory.
#define PATCH 1

// Words of 16 bytes that an octet takes in threadgroup memory.
template <typename F> struct Unit {
    enum { words = 1 };
};
inline void add_product(Half, thread float2& top, thread float2& bottom, uint4 a, uint b0, uint b1) { msl_mma_f16(top, bottom, a, b0, b1); }
inline void add_product(Brain, thread float2& top, thread float2& bottom, uint4 a, uint b0, uint b1) { msl_mma_bf16(top, bottom, a, b0, b1); }

// Rows of `octets` octets. Eight rows of a column of octets lie in different banks.
template <typename F, uint octets> struct Rows {
    enum { pitch = octets };
    static inline uint place(uint row, uint octet) {
        return row * octets + (octet ^ (octets < 8 ? row / (8 / octets) % octets : row % 8));
    }
};

// Asks for a tile of `octets` octets a row, `count` of them by each of `threads` threads; zeros outside of the matrix. Copies
// go to threadgroup memory by themselves: a thread holds nothing.
template <typename F, uint octets, uint threads, uint count>
inline void request(thread uint4*, threadgroup uint4* stage, device const ushort* x, Part part, uint tid) {
    MSL_UNROLL for (uint u = 0; u < count; u++) {
        uint e = tid + u * threads, row = part.row + e / octets, col = part.col + e % octets * 8;
        bool inside = is_inside(part, row, col);
        msl_mma_copy(stage + Rows<F, octets>::place(e / octets, e % octets), inside ? x + place_of(part, row, col) : x, inside);
    }
}
inline void request_done() { msl_mma_commit(); }
template <typename F, uint octets, uint threads, uint count>
inline void deliver(thread const uint4*, threadgroup uint4*, uint) {}
// Before requests are delivered: nothing. After: the oldest step has arrived, and nobody multiplies the one before it.
inline void before_delivery() {}
inline void after_delivery() {
    msl_mma_wait<AHEAD - 1>();
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

// Sums of M x N elements.
template <uint M, uint N> struct Sums {
    float2 block[M / 8 * (N / 8)];
};
template <uint M, uint N> inline void clear(thread Sums<M, N>& sums) {
    MSL_UNROLL for (uint i = 0; i < M / 8 * (N / 8); i++) sums.block[i] = float2(0.0f, 0.0f);
}

// Adds the product of M rows of `a` from `row` on, `depth` deep, and N columns of `b` from `col` on, of `width`.
template <typename F, uint M, uint N, uint depth, uint width>
inline void multiply(threadgroup const uint4* a, threadgroup const uint4* b, uint row, uint col, uint lane, thread Sums<M, N>& sums) {
    MSL_UNROLL for (uint k = 0; k < depth; k += 16) {
        uint4 x[M / 16], y[N / 16];
        MSL_UNROLL for (uint i = 0; i < M / 16; i++)
            x[i] = msl_mma_load(a + Rows<F, depth / 8>::place(row + i * 16 + lane % 16, k / 8 + lane / 16));
        MSL_UNROLL for (uint j = 0; j < N / 16; j++)
            y[j] = msl_mma_load_transposed(b + Rows<F, width / 8>::place(k + lane % 16, col / 8 + j * 2 + lane / 16));
        MSL_UNROLL for (uint i = 0; i < M / 16; i++)
            MSL_UNROLL for (uint j = 0; j < N / 8; j++)
                add_product(F(), sums.block[i * 2 * (N / 8) + j], sums.block[(i * 2 + 1) * (N / 8) + j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
    }
}

// The elements 2 (lane % 4) and the next one of row lane / 4 of a block.
template <uint M, uint N> inline float2 block_pair(thread const Sums<M, N>& sums, uint block, threadgroup float*, uint) { return sums.block[block]; }
#else
#define STAGES 1
#define AHEAD 1
#define PATCH 64

template <typename F> struct Unit;
template <> struct Unit<Half> {
    typedef half cell;
    typedef simdgroup_half8x8 matrix;
    enum { words = 1 };
    static inline void put(threadgroup uint4* at, uint4 octet) { at[0] = octet; }
};
// Matrices of `bfloat` came later than SIMD-group matrices: factors are widened.
template <> struct Unit<Brain> {
    typedef float cell;
    typedef simdgroup_float8x8 matrix;
    enum { words = 2 };
    static inline void put(threadgroup uint4* at, uint4 octet) {
        at[0] = uint4(octet.x << 16, octet.x & 0xffff0000u, octet.y << 16, octet.y & 0xffff0000u);
        at[1] = uint4(octet.z << 16, octet.z & 0xffff0000u, octet.w << 16, octet.w & 0xffff0000u);
    }
};

// Rows of `octets` octets and sixteen bytes, so that rows begin in different banks.
template <typename F, uint octets> struct Rows {
    enum { pitch = octets * Unit<F>::words + 1 };
    static inline uint place(uint row, uint octet) { return row * pitch + octet * Unit<F>::words; }
};

template <typename F, uint octets, uint threads, uint count>
inline void request(thread uint4* held, threadgroup uint4*, device const ushort* x, Part part, uint tid) {
    MSL_UNROLL for (uint u = 0; u < count; u++) {
        uint e = tid + u * threads, row = part.row + e / octets, col = part.col + e % octets * 8;
        held[u] = uint4(0, 0, 0, 0);
        if (is_inside(part, row, col)) held[u] = *(device const uint4*)(x + place_of(part, row, col));
    }
}
inline void request_done() {}
template <typename F, uint octets, uint threads, uint count>
inline void deliver(thread const uint4* held, threadgroup uint4* stage, uint tid) {
    MSL_UNROLL for (uint u = 0; u < count; u++) {
        uint e = tid + u * threads;
        Unit<F>::put(stage + Rows<F, octets>::place(e / octets, e % octets), held[u]);
    }
}
inline void before_delivery() { threadgroup_barrier(mem_flags::mem_threadgroup); }
inline void after_delivery() { threadgroup_barrier(mem_flags::mem_threadgroup); }

template <uint M, uint N> struct Sums {
    simdgroup_float8x8 block[M / 8 * (N / 8)];
};
template <uint M, uint N> inline void clear(thread Sums<M, N>& sums) {
    MSL_UNROLL for (uint i = 0; i < M / 8 * (N / 8); i++) sums.block[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
}

template <typename F, uint M, uint N, uint depth, uint width>
inline void multiply(threadgroup const uint4* a, threadgroup const uint4* b, uint row, uint col, uint, thread Sums<M, N>& sums) {
    typedef typename Unit<F>::cell T;
    constexpr uint pitch_a = Rows<F, depth / 8>::pitch * (16 / sizeof(T)), pitch_b = Rows<F, width / 8>::pitch * (16 / sizeof(T));
    threadgroup const T* from_a = (threadgroup const T*)a + row * pitch_a;
    threadgroup const T* from_b = (threadgroup const T*)b + col;
    MSL_UNROLL for (uint k = 0; k < depth; k += 8) {
        typename Unit<F>::matrix x[M / 8], y[N / 8];
        MSL_UNROLL for (uint i = 0; i < M / 8; i++) simdgroup_load(x[i], from_a + i * 8 * pitch_a + k, pitch_a);
        MSL_UNROLL for (uint j = 0; j < N / 8; j++) simdgroup_load(y[j], from_b + k * pitch_b + j * 8, pitch_b);
        MSL_UNROLL for (uint i = 0; i < M / 8; i++)
            MSL_UNROLL for (uint j = 0; j < N / 8; j++)
                simdgroup_multiply_accumulate(sums.block[i * (N / 8) + j], x[i], y[j], sums.block[i * (N / 8) + j]);
    }
}

template <uint M, uint N> inline float2 block_pair(thread const Sums<M, N>& sums, uint block, threadgroup float* patch, uint lane) {
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_store(sums.block[block], patch, 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    return float2(patch[lane * 2], patch[lane * 2 + 1]);
}
#endif
