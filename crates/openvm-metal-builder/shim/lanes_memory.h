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
    static MSL_INL R even(R a, R b) {
        R r;
        for (uint k = 0; k < MSL_LANES / 2; k++) { r[k] = a[2 * k]; r[k + MSL_LANES / 2] = b[2 * k]; }
        return r;
    }
    static MSL_INL R odd(R a, R b) {
        R r;
        for (uint k = 0; k < MSL_LANES / 2; k++) { r[k] = a[2 * k + 1]; r[k + MSL_LANES / 2] = b[2 * k + 1]; }
        return r;
    }
    static MSL_INL R low(R a, R b) {
        R r;
        for (uint k = 0; k < MSL_LANES / 2; k++) { r[2 * k] = a[k]; r[2 * k + 1] = b[k]; }
        return r;
    }
    static MSL_INL R high(R a, R b) {
        R r;
        for (uint k = 0; k < MSL_LANES / 2; k++) { r[2 * k] = a[k + MSL_LANES / 2]; r[2 * k + 1] = b[k + MSL_LANES / 2]; }
        return r;
    }
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
template <class T> MSL_INL lane_t<T> lane_gather(const T* p, uint_l i) {
    typedef msl_cell_t<T> C;
    typedef typename msl_raw<C>::type R;
    constexpr uint N = sizeof(T) / sizeof(C);
    R w[N];
    MSL_UNROLL for (uint j = 0; j < N; j++) w[j] = msl_read_at<C>((const C*)p + j, N, i);
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
