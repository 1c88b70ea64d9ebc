// What the generated entry points are made of: argument types, threadgroup arrays, thread positions.
#pragma once
#define MSL_KERNEL MSL_INL

template <int N, class F> struct msl_arg_at;
template <int N, class R, class A, class... B> struct msl_arg_at<N, R (*)(A, B...)> : msl_arg_at<N - 1, R (*)(B...)> {};
template <class R, class A, class... B> struct msl_arg_at<0, R (*)(A, B...)> { typedef A type; };
template <int N, class F> using msl_arg = typename msl_arg_at<N, F>::type;

// Type that a pointer or reference parameter refers to, without const.
template <class A> struct msl_target { typedef metal::remove_cv_t<A> type; };
template <class T> struct msl_target<T*> { typedef metal::remove_cv_t<T> type; };
template <class T> struct msl_target<T&> { typedef metal::remove_cv_t<T> type; };
template <class A> using msl_target_t = typename msl_target<A>::type;

// Passes the address `p` as the pointer or reference parameter A.
template <class A> struct msl_pass_as { static MSL_INL A from(void* p) { return (A)p; } };
template <class T> struct msl_pass_as<T&> { static MSL_INL T& from(void* p) { return *(T*)p; } };
template <class A> MSL_INL A msl_pass(const void* p) { return msl_pass_as<A>::from((void*)p); }

// Converts a position to the declared type of a builtin parameter.
template <class A> struct msl_pos_as { static MSL_INL A from(uint3 v) { return (A)v.x; } };
template <class E> struct msl_pos_as<metal::vec<E, 2>> { static MSL_INL metal::vec<E, 2> from(uint3 v) { return metal::vec<E, 2>{(E)v.x, (E)v.y}; } };
template <class E> struct msl_pos_as<metal::vec<E, 3>> { static MSL_INL metal::vec<E, 3> from(uint3 v) { return metal::vec<E, 3>{(E)v.x, (E)v.y, (E)v.z}; } };
template <class A> MSL_INL A msl_pos(uint3 v) { return msl_pos_as<metal::remove_cv_t<A>>::from(v); }
MSL_INL uint3 msl_u3(uint x) { return uint3{x, 0, 0}; }

// `threadgroup T x[N];` becomes `typedef T x__t[N]; MSL_TG(x);`
#ifndef MSL_TG_MAX
#define MSL_TG_MAX 32768 // bytes that every Apple GPU has
#endif
#define MSL_TG_LIMIT(n) static_assert(sizeof(n##__t) <= MSL_TG_MAX, "threadgroup array of more than 32 KiB");
#if defined(MSL_PROBE)
#define MSL_TG(n) MSL_TG_LIMIT(n) __asm__ volatile("#MSL_TG " #n " %c0" : : "i"(sizeof(n##__t))); \
    static unsigned char n##__s[sizeof(n##__t)]; n##__t& n = *(n##__t*)(void*)n##__s
#elif defined(MSL_PTX)
#define MSL_TG(n) MSL_TG_LIMIT(n) static __attribute__((address_space(3), aligned(16))) unsigned char n##__s[sizeof(n##__t)]; \
    n##__t& n = *(n##__t*)(void*)n##__s
#elif defined(MSL_FIBER)
#define MSL_TG(n) MSL_TG_LIMIT(n) alignas(64) static thread_local unsigned char n##__s[sizeof(n##__t)]; \
    n##__t& n = *(n##__t*)(void*)n##__s; msl_rt->threadgroup_array(n##__s, sizeof(n##__t))
#else
#define MSL_TG(n) MSL_TG_LIMIT(n) alignas(64) static thread_local unsigned char n##__s[sizeof(n##__t)]; \
    n##__t& n = *(n##__t*)(void*)n##__s
#endif

#ifdef MSL_PTX
#define MSL_GUARD(cond) if (cond) return;
#define MSL_SREG(a) (uint3{(uint)__nvvm_read_ptx_sreg_##a##_x(), (uint)__nvvm_read_ptx_sreg_##a##_y(), (uint)__nvvm_read_ptx_sreg_##a##_z()})
template <class A> MSL_INL A msl_dynamic(uint offset) { return msl_pass<A>((void*)(msl_shared + offset)); }
// Place of a slice: its first threadgroup in the grid, and the threadgroups of the whole grid.
struct msl_slice { uint first[3], groups[3]; };
struct msl_ctx {
    MSL_INL uint3 lpos() const { return MSL_SREG(tid); }
    MSL_INL uint3 tgpos() const { return MSL_SREG(ctaid) + uint3{slice.first[0], slice.first[1], slice.first[2]}; }
    MSL_INL uint3 tpg() const { return MSL_SREG(ntid); }
    MSL_INL uint3 ntg() const { return uint3{slice.groups[0], slice.groups[1], slice.groups[2]}; }
    uint threads; // along x: the last threadgroup may be cut short
    msl_slice slice;
    MSL_INL uint3 grid() const { uint3 g = ntg() * tpg(); g.x = threads; return g; }
    MSL_INL uint index() const { uint3 l = lpos(), t = tpg(); return l.x + t.x * (l.y + t.y * l.z); }
    static constexpr uint simd = 32;
#else
#define MSL_GUARD(cond)
struct msl_launch { void* buf[31]; uint tg_len[8]; uint threads[3], tpg[3], ntg[3]; };
#ifdef MSL_FIBER
struct msl_thread { const msl_hooks* hooks; uint tid[3], group[3], index; };
#endif
struct msl_ctx {
    uint3 lpos_, tgpos_, tpg_, ntg_, grid_;
    uint index_;
    MSL_INL uint3 lpos() const { return lpos_; }
    MSL_INL uint3 tgpos() const { return tgpos_; }
    MSL_INL uint3 tpg() const { return tpg_; }
    MSL_INL uint3 ntg() const { return ntg_; }
    MSL_INL uint3 grid() const { return grid_; }
    MSL_INL uint index() const { return index_; }
#ifdef MSL_FIBER
    static constexpr uint simd = 32;
#else
    static constexpr uint simd = MSL_LANES;
#endif
#endif
    MSL_INL uint3 gpos() const { return tgpos() * tpg() + lpos(); }
    MSL_INL uint count() const { uint3 t = tpg(); return t.x * t.y * t.z; }
    MSL_INL uint3 lidx() const { return msl_u3(index()); }
    MSL_INL uint3 lane() const { return msl_u3(index() % simd); }
    MSL_INL uint3 sg() const { return msl_u3(index() / simd); }
    MSL_INL uint3 nsg() const { return msl_u3((count() + simd - 1) / simd); }
    MSL_INL uint3 simdw() const { return msl_u3(simd); }
    MSL_INL uint3 quad() const { return msl_u3(index() / 4); }
    MSL_INL uint3 quadlane() const { return msl_u3(index() % 4); }
};

#ifndef MSL_PTX
MSL_INL uint3 msl_load3(const uint* p) { return uint3{p[0], p[1], p[2]}; }
MSL_INL uint3 msl_group_at(const msl_launch& L, ulong g) {
    ulong r = g / L.ntg[0];
    return uint3{uint(g % L.ntg[0]), uint(r % L.ntg[1]), uint(r / L.ntg[1])};
}
// Address of `[[threadgroup(n)]]` memory: the arguments lie one after another, 16-byte aligned.
MSL_INL void* msl_arena(const msl_launch& L, unsigned char* arena, uint n) {
    for (uint i = 0; i < n; i++) arena += (L.tg_len[i] + 15) & ~15u;
    return arena;
}
MSL_INL uint msl_least(uint a, ulong b) { return a < b ? a : (uint)b; }

// Loops over the threads of threadgroups gb..ge of a flat kernel. `bound` is the hoisted guard.
#ifdef __clang__
#define MSL_PARALLEL _Pragma("clang loop vectorize(assume_safety)")
#define MSL_SERIAL _Pragma("clang loop vectorize(disable)")
#else
#define MSL_PARALLEL _Pragma("GCC ivdep")
#define MSL_SERIAL
#endif
template <class Row> MSL_INL void msl_rows(const msl_launch& L, ulong gb, ulong ge, Row row) {
    if (L.tpg[1] * L.tpg[2] * L.ntg[1] * L.ntg[2] == 1) {
        ulong end = ge * L.tpg[0];
        row((uint)(gb * L.tpg[0]), msl_least(L.threads[0], end), 0, 0);
        return;
    }
    for (ulong g = gb; g < ge; g++) {
        const uint3 p = msl_group_at(L, g);
        const uint x0 = p.x * L.tpg[0], x1 = msl_least(L.threads[0], (ulong)x0 + L.tpg[0]);
        const uint y1 = msl_least(L.threads[1], ((ulong)p.y + 1) * L.tpg[1]), z1 = msl_least(L.threads[2], ((ulong)p.z + 1) * L.tpg[2]);
        for (uint z = p.z * L.tpg[2]; z < z1; z++)
            for (uint y = p.y * L.tpg[1]; y < y1; y++) row(x0, x1, y, z);
    }
}
template <bool VECTOR, class Body> MSL_INL void msl_span(uint x0, uint x1, Body body) {
    if constexpr (VECTOR) {
        MSL_PARALLEL for (uint x = x0; x < x1; x++) body(x);
    } else {
        MSL_SERIAL for (uint x = x0; x < x1; x++) body(x);
    }
}
// Position of thread (x, y, z) for builtins other than its place in the grid.
MSL_INL msl_ctx msl_ctx_at(const msl_launch& L, uint3 p) {
    msl_ctx X;
    X.tpg_ = msl_load3(L.tpg);
    X.ntg_ = msl_load3(L.ntg);
    X.grid_ = msl_load3(L.threads);
    X.tgpos_ = p / X.tpg_;
    X.lpos_ = p - X.tgpos_ * X.tpg_;
    X.index_ = X.lpos_.x + X.tpg_.x * (X.lpos_.y + X.tpg_.y * X.lpos_.z);
    return X;
}
// Position of the only thread (or vector) of threadgroup g.
MSL_INL msl_ctx msl_ctx_solo(const msl_launch& L, ulong g) {
    msl_ctx X;
    X.tpg_ = uint3{MSL_LANES, 1, 1};
    X.ntg_ = msl_load3(L.ntg);
    X.grid_ = X.ntg_ * X.tpg_;
    X.tgpos_ = msl_group_at(L, g);
    X.lpos_ = uint3{0, 0, 0};
    X.index_ = 0;
    return X;
}
#ifdef MSL_FIBER
MSL_INL msl_ctx msl_ctx_fiber(const msl_launch& L, const msl_thread& T) {
    msl_rt = T.hooks;
    msl_ctx X;
    X.tpg_ = msl_load3(L.tpg);
    X.ntg_ = msl_load3(L.ntg);
    X.grid_ = msl_load3(L.threads);
    X.tgpos_ = msl_load3(T.group);
    X.lpos_ = msl_load3(T.tid);
    X.index_ = T.index;
    return X;
}
#endif
#endif
