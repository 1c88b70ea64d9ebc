// Affine indices, and loads and stores of vectors of elements.
#pragma once

// The index base + k * step for lane k.
struct index_l {
    ulong base, step;
    index_l() = default;
    MSL_INL constexpr index_l(ulong base, ulong step) : base(base), step(step) {}
    friend MSL_INL index_l operator+(index_l a, index_l b) { return index_l(a.base + b.base, a.step + b.step); }
    friend MSL_INL index_l operator+(index_l a, ulong b) { return index_l(a.base + b, a.step); }
    friend MSL_INL index_l operator+(ulong a, index_l b) { return index_l(a + b.base, b.step); }
    friend MSL_INL index_l operator-(index_l a, ulong b) { return index_l(a.base - b, a.step); }
    friend MSL_INL index_l operator-(ulong a, index_l b) { return index_l(a - b.base, 0 - b.step); }
    friend MSL_INL index_l operator*(index_l a, ulong b) { return index_l(a.base * b, a.step * b); }
    friend MSL_INL index_l operator*(ulong a, index_l b) { return index_l(a * b.base, a * b.step); }
    friend MSL_INL index_l operator<<(index_l a, uint s) { return index_l(a.base << s, a.step << s); }
    MSL_INL index_l& operator+=(ulong b) { base += b; return *this; }
};
typedef index_l gid_l;
typedef index_l tid_l;
struct gid2_l { index_l x; uint y; };
struct gid3_l { index_l x; uint y, z; };

MSL_INL uint_l to_vec(index_l i) {
    uint_l r;
    for (uint k = 0; k < MSL_LANES; k++) r.v[k] = k;
    return r * uint_l((uint)i.step) + uint_l((uint)i.base);
}

template <class T> struct lane_type;
template <> struct lane_type<uint> { typedef uint_l type; };
template <> struct lane_type<int> { typedef int_l type; };
template <> struct lane_type<ulong> { typedef ulong_l type; };
template <> struct lane_type<float> { typedef float_l type; };
template <class T> struct msl_elem { typedef T type; };
template <class T> struct msl_elem<const T> { typedef T type; };
template <class T> using lane_t = typename lane_type<typename msl_elem<T>::type>::type;

// An element is read as 32-bit cells (64-bit for ulong); its lane type has one vector for each cell.
template <class T> struct msl_cell { typedef uint type; };
template <> struct msl_cell<ulong> { typedef ulong type; };
template <class T> using msl_cell_t = typename msl_cell<typename msl_elem<T>::type>::type;

template <class C> struct msl_cells {
    typedef typename msl_raw<C>::type R;
#if MSL_LANES == 16
#define MSL_PICK(f) f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)
#elif MSL_LANES == 8
#define MSL_PICK(f) f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)
#else
#define MSL_PICK(f) f(0), f(1), f(2), f(3)
#endif
#define MSL_EVEN(k) 2 * (k)
#define MSL_ODD(k) 2 * (k) + 1
#define MSL_LOW(k) (k) / 2 + (k) % 2 * MSL_LANES
#define MSL_HIGH(k) (k) / 2 + (k) % 2 * MSL_LANES + MSL_LANES / 2
    static MSL_INL R even(R a, R b) { return __builtin_shufflevector(a, b, MSL_PICK(MSL_EVEN)); }
    static MSL_INL R odd(R a, R b) { return __builtin_shufflevector(a, b, MSL_PICK(MSL_ODD)); }
    static MSL_INL R low(R a, R b) { return __builtin_shufflevector(a, b, MSL_PICK(MSL_LOW)); }
    static MSL_INL R high(R a, R b) { return __builtin_shufflevector(a, b, MSL_PICK(MSL_HIGH)); }
#undef MSL_PICK
#undef MSL_EVEN
#undef MSL_ODD
#undef MSL_LOW
#undef MSL_HIGH
    // Elements in memory order -> one vector per cell, and back, for a power of two of cells. Large elements do
    // not fit into registers: loops then, which are a tenth of the code.
    template <uint N> static MSL_INL void split_pass(R* w) {
        R t[N];
        if constexpr (N <= 16) {
            MSL_UNROLL for (uint j = 0; j < N / 2; j++) { t[j] = even(w[2 * j], w[2 * j + 1]); t[j + N / 2] = odd(w[2 * j], w[2 * j + 1]); }
            MSL_UNROLL for (uint j = 0; j < N; j++) w[j] = t[j];
        } else {
            for (uint j = 0; j < N / 2; j++) { t[j] = even(w[2 * j], w[2 * j + 1]); t[j + N / 2] = odd(w[2 * j], w[2 * j + 1]); }
            __builtin_memcpy(w, t, sizeof(t));
        }
    }
    template <uint N> static MSL_INL void merge_pass(R* w) {
        R t[N];
        if constexpr (N <= 16) {
            MSL_UNROLL for (uint j = 0; j < N / 2; j++) { t[2 * j] = low(w[j], w[j + N / 2]); t[2 * j + 1] = high(w[j], w[j + N / 2]); }
            MSL_UNROLL for (uint j = 0; j < N; j++) w[j] = t[j];
        } else {
            for (uint j = 0; j < N / 2; j++) { t[2 * j] = low(w[j], w[j + N / 2]); t[2 * j + 1] = high(w[j], w[j + N / 2]); }
            __builtin_memcpy(w, t, sizeof(t));
        }
    }
    template <uint N> static MSL_INL void split(R* w) {
        if constexpr (N <= 16) { MSL_UNROLL for (uint pass = 1; pass < N; pass *= 2) split_pass<N>(w); }
        else { for (uint pass = 1; pass < N; pass *= 2) split_pass<N>(w); }
    }
    template <uint N> static MSL_INL void merge(R* w) {
        if constexpr (N <= 16) { MSL_UNROLL for (uint pass = 1; pass < N; pass *= 2) merge_pass<N>(w); }
        else { for (uint pass = 1; pass < N; pass *= 2) merge_pass<N>(w); }
    }
};

// Strided and indexed accesses go lane by lane, out of line: inlined they would be most of the code.
template <class C> __attribute__((noinline)) typename msl_raw<C>::type msl_read(const C* q, ulong step) {
    typename msl_raw<C>::type r;
    for (uint k = 0; k < MSL_LANES; k++) r[k] = q[k * step];
    return r;
}
template <class C> __attribute__((noinline)) void msl_write(C* q, ulong step, typename msl_raw<C>::type v) {
    for (uint k = 0; k < MSL_LANES; k++) q[k * step] = v[k];
}
template <class C> __attribute__((noinline)) typename msl_raw<C>::type msl_read_at(const C* q, uint n, uint_l i) {
    typename msl_raw<C>::type r;
    for (uint k = 0; k < MSL_LANES; k++) r[k] = q[(ulong)i.v[k] * n];
    return r;
}
template <class C> __attribute__((noinline)) void msl_write_at(C* q, uint n, uint_l i, typename msl_raw<C>::type v) {
    for (uint k = 0; k < MSL_LANES; k++) q[(ulong)i.v[k] * n] = v[k];
}

template <class T> MSL_INL lane_t<T> lane_load(const T* p, index_l i) {
    typedef msl_cell_t<T> C;
    typedef typename msl_raw<C>::type R;
    constexpr uint N = sizeof(T) / sizeof(C);
    static_assert(sizeof(lane_t<T>) == N * sizeof(R), "the lane type must have one vector for each cell");
    R w[N];
    if (i.step == 1 && (N & (N - 1)) == 0) {
        __builtin_memcpy(w, (const void*)(p + i.base), sizeof(w));
        if constexpr (N > 1 && (N & (N - 1)) == 0) msl_cells<C>::template split<N>(w);
    } else if (i.step == 0) {
        C c[N];
        __builtin_memcpy(c, (const void*)(p + i.base), sizeof(c));
        MSL_UNROLL for (uint j = 0; j < N; j++) w[j] = R{} + c[j];
    } else {
        const C* q = (const C*)(p + i.base);
        const ulong step = i.step * N;
        MSL_UNROLL for (uint j = 0; j < N; j++) w[j] = msl_read<C>(q + j, step);
    }
    return __builtin_bit_cast(lane_t<T>, w);
}
template <class T> MSL_INL void lane_store(T* p, index_l i, lane_t<T> v) {
    typedef msl_cell_t<T> C;
    typedef typename msl_raw<C>::type R;
    constexpr uint N = sizeof(T) / sizeof(C);
    struct cells { R w[N]; };
    cells c = __builtin_bit_cast(cells, v);
    if (i.step == 1 && (N & (N - 1)) == 0) {
        if constexpr (N > 1 && (N & (N - 1)) == 0) msl_cells<C>::template merge<N>(c.w);
        __builtin_memcpy((void*)(p + i.base), c.w, sizeof(c.w));
    } else {
        C* q = (C*)(p + i.base);
        const ulong step = i.step * N;
        MSL_UNROLL for (uint j = 0; j < N; j++) msl_write<C>(q + j, step, c.w[j]);
    }
}
// `lane_store` of what is not read soon: whole vectors go to memory past the caches, whose lines they would replace. Callers
// store the vectors of a line of 64 bytes right after one another: else its parts go to memory one by one. `lane_stream_end` comes before
// another thread may read them.
#if defined(__x86_64__)
constexpr bool LANE_STREAMS = true;
#else
constexpr bool LANE_STREAMS = false;
#endif
template <class T> MSL_INL void lane_stream(T* p, index_l i, lane_t<T> v) {
#if defined(__x86_64__)
    typedef typename msl_raw<msl_cell_t<T>>::type R;
    if constexpr (sizeof(lane_t<T>) == sizeof(R)) {
        R* to = (R*)(p + i.base);
        if (i.step == 1 && (__UINTPTR_TYPE__)to % sizeof(R) == 0) {
#if defined(__clang__)
            __builtin_nontemporal_store(__builtin_bit_cast(R, v), to);
#elif MSL_LANES == 16
            _mm512_stream_si512((__m512i*)to, __builtin_bit_cast(__m512i, v));
#elif MSL_LANES == 8
            _mm256_stream_si256((__m256i*)to, __builtin_bit_cast(__m256i, v));
#else
            _mm_stream_si128((__m128i*)to, __builtin_bit_cast(__m128i, v));
#endif
            return;
        }
    }
#endif
    lane_store(p, i, v);
}
MSL_INL void lane_stream_end() {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}
template <class T> MSL_INL lane_t<T> lane_gather(const T* p, uint_l i) {
    typedef msl_cell_t<T> C;
    typedef typename msl_raw<C>::type R;
    constexpr uint N = sizeof(T) / sizeof(C);
    R w[N];
    if constexpr (N >= 4 && (N & (N - 1)) == 0) {
        // An element fills vectors: each lane's is read as a whole.
        MSL_UNROLL for (uint k = 0; k < MSL_LANES; k++) __builtin_memcpy((C*)w + k * N, (const void*)(p + i.v[k]), N * sizeof(C));
        msl_cells<C>::template split<N>(w);
    } else {
        MSL_UNROLL for (uint j = 0; j < N; j++) w[j] = msl_read_at<C>((const C*)p + j, N, i);
    }
    return __builtin_bit_cast(lane_t<T>, w);
}
template <class T> MSL_INL lane_t<T> lane_gather(const T* p, index_l i) { return lane_load(p, i); }
template <class T> MSL_INL void lane_scatter(T* p, uint_l i, lane_t<T> v) {
    typedef msl_cell_t<T> C;
    typedef typename msl_raw<C>::type R;
    constexpr uint N = sizeof(T) / sizeof(C);
    struct cells { R w[N]; };
    cells c = __builtin_bit_cast(cells, v);
    MSL_UNROLL for (uint j = 0; j < N; j++) msl_write_at<C>((C*)p + j, N, i, c.w[j]);
}
