// Barriers and SIMD-group operations. Four ways to run:
//   MSL_PTX        real ones
//   MSL_FIBER      one fiber per thread, the runtime's hooks
//   MSL_LANES > 1  a threadgroup is one vector: barriers are no-ops, see lanes_simd.h
//   otherwise      a threadgroup is one thread: barriers are no-ops, a SIMD-group has one lane
#pragma once
#ifndef MSL_LANES
#define MSL_LANES 1
#endif
namespace metal {
enum class mem_flags : int { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4, mem_threadgroup_imageblock = 8 };
MSL_INL constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
enum thread_scope { thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device };
// What a vote gives: a bit for each lane.
template <int LANES> struct msl_vote {
    typedef ulong vote_t;
    vote_t bits;
    msl_vote() = default;
    explicit constexpr msl_vote(vote_t b) : bits(b) {}
    explicit constexpr operator vote_t() const { return bits; }
    constexpr bool any() const { return bits != 0; }
    constexpr bool all() const { return bits == (1ul << LANES) - 1; }
};
typedef msl_vote<4> quad_vote;
}  // namespace metal

#ifdef MSL_FIBER
struct msl_hooks {
    void (*barrier)(uint line);
    void (*simd_barrier)(uint line);
    const unsigned char* (*simd_exchange)(const void* value, uint size, uint line);
    uint (*simd_lane)();
    uint (*simd_threads)();
    void (*threadgroup_array)(void* data, uint bytes);
};
static const msl_hooks* msl_rt;
#define MSL_AT uint line = __builtin_LINE()
#else
#define MSL_AT uint = 0
#endif

namespace metal {
#if defined(MSL_PTX)
MSL_INL void threadgroup_barrier(mem_flags) { __nvvm_bar_sync(0); }
MSL_INL void simdgroup_barrier(mem_flags) { __nvvm_bar_warp_sync(0xffffffffu); }
MSL_INL uint msl_lane_id() { return __nvvm_read_ptx_sreg_laneid(); }
MSL_INL uint msl_lane_count() { return 32; }
template <class T> MSL_INL T simd_shuffle(T v, ushort k) {
    static_assert(sizeof(T) <= 16, "shuffled values have at most 16 bytes");
    constexpr int n = (sizeof(T) + 3) / 4;
    int x[n] = {};
    __builtin_memcpy(x, &v, sizeof(T));
    for (int i = 0; i < n; i++) x[i] = __nvvm_shfl_sync_idx_i32(0xffffffffu, x[i], k, 31);
    T r;
    __builtin_memcpy(&r, x, sizeof(T));
    return r;
}
template <class T> MSL_INL T simd_shuffle_xor(T v, ushort m) {
    constexpr int n = (sizeof(T) + 3) / 4;
    int x[n] = {};
    __builtin_memcpy(x, &v, sizeof(T));
    for (int i = 0; i < n; i++) x[i] = __nvvm_shfl_sync_bfly_i32(0xffffffffu, x[i], m, 31);
    T r;
    __builtin_memcpy(&r, x, sizeof(T));
    return r;
}
template <class T, class F> MSL_INL T msl_reduce(T v, F f) {
    for (ushort m = 16; m; m >>= 1) v = f(v, simd_shuffle_xor(v, m));
    return v;
}
MSL_INL bool simd_any(bool p) { return __nvvm_vote_any_sync(0xffffffffu, p); }
MSL_INL bool simd_all(bool p) { return __nvvm_vote_all_sync(0xffffffffu, p); }
typedef msl_vote<32> simd_vote;
MSL_INL simd_vote simd_ballot(bool p) { return simd_vote((uint)__nvvm_vote_ballot_sync(0xffffffffu, p)); }
#elif defined(MSL_FIBER)
MSL_INL void threadgroup_barrier(mem_flags, MSL_AT) { msl_rt->barrier(line); }
MSL_INL void simdgroup_barrier(mem_flags, MSL_AT) { msl_rt->simd_barrier(line); }
MSL_INL uint msl_lane_id() { return msl_rt->simd_lane(); }
MSL_INL uint msl_lane_count() { return msl_rt->simd_threads(); }
template <class T> MSL_INL T msl_slot(const unsigned char* all, uint lane) {
    T r;
    __builtin_memcpy(&r, all + 16 * (lane & 31), sizeof(T));
    return r;
}
template <class T> MSL_INL T simd_shuffle(T v, ushort k, MSL_AT) {
    static_assert(sizeof(T) <= 16, "shuffled values have at most 16 bytes");
    return msl_slot<T>(msl_rt->simd_exchange(&v, sizeof(T), line), k);
}
template <class T> MSL_INL T simd_shuffle_xor(T v, ushort m, MSL_AT) { return simd_shuffle(v, msl_lane_id() ^ m, line); }
template <class T, class F> MSL_INL T msl_reduce(T v, F f, MSL_AT) {
    const unsigned char* all = msl_rt->simd_exchange(&v, sizeof(T), line);
    const uint n = msl_lane_count();
    T r = msl_slot<T>(all, 0);
    for (uint i = 1; i < n; i++) r = f(r, msl_slot<T>(all, i));
    return r;
}
MSL_INL bool simd_any(bool p, MSL_AT) { return msl_reduce((uint)p, [](uint a, uint b) { return a | b; }, line) != 0; }
MSL_INL bool simd_all(bool p, MSL_AT) { return msl_reduce((uint)p, [](uint a, uint b) { return a & b; }, line) != 0; }
typedef msl_vote<32> simd_vote;
MSL_INL simd_vote simd_ballot(bool p, MSL_AT) {
    return simd_vote(msl_reduce(p ? 1u << msl_lane_id() : 0u, [](uint a, uint b) { return a | b; }, line));
}
#else
MSL_INL void threadgroup_barrier(mem_flags) {}
MSL_INL void simdgroup_barrier(mem_flags) {}
MSL_INL uint msl_lane_id() { return 0; }
MSL_INL uint msl_lane_count() { return 1; }
template <class T> MSL_INL T simd_shuffle(T v, ushort) { return v; }
template <class T> MSL_INL T simd_shuffle_xor(T v, ushort) { return v; }
#if MSL_LANES > 1
__attribute__((error("a lane kernel reduces values of lane type"))) void msl_scalar_reduction();
#else
MSL_INL void msl_scalar_reduction() {}
#endif
template <class T, class F> MSL_INL T msl_reduce(T v, F, uint = 0) {
    msl_scalar_reduction();
    return v;
}
MSL_INL bool simd_any(bool p) { return p; }
MSL_INL bool simd_all(bool p) { return p; }
typedef msl_vote<1> simd_vote;
MSL_INL simd_vote simd_ballot(bool p) { return simd_vote(p); }
#endif

// What follows is built from simd_shuffle, msl_reduce, msl_lane_id and msl_lane_count.
#ifdef MSL_FIBER
#define MSL_L , line
#else
#define MSL_L
#endif
template <class T> MSL_INL T simd_broadcast(T v, ushort k, MSL_AT) { return simd_shuffle(v, k MSL_L); }
template <class T> MSL_INL T simd_broadcast_first(T v, MSL_AT) { return simd_shuffle(v, 0 MSL_L); }
template <class T> MSL_INL T simd_shuffle_down(T v, ushort d, MSL_AT) {
    uint l = msl_lane_id(), k = l + d;
    return simd_shuffle(v, k < msl_lane_count() ? k : l MSL_L);
}
template <class T> MSL_INL T simd_shuffle_up(T v, ushort d, MSL_AT) {
    uint l = msl_lane_id();
    return simd_shuffle(v, l >= d ? l - d : l MSL_L);
}
template <class T> MSL_INL T simd_shuffle_rotate_down(T v, ushort d, MSL_AT) {
    return simd_shuffle(v, (msl_lane_id() + d) % msl_lane_count() MSL_L);
}
template <class T> MSL_INL T simd_shuffle_rotate_up(T v, ushort d, MSL_AT) {
    return simd_shuffle(v, (msl_lane_id() + msl_lane_count() - d % msl_lane_count()) % msl_lane_count() MSL_L);
}
template <class T> MSL_INL T simd_shuffle_and_fill_down(T v, T fill, ushort d, MSL_AT) {
    uint l = msl_lane_id(), n = msl_lane_count(), k = l + d;
    T a = simd_shuffle(v, k % n MSL_L), b = simd_shuffle(fill, k % n MSL_L);
    return k < n ? a : b;
}
template <class T> MSL_INL T simd_shuffle_and_fill_up(T v, T fill, ushort d, MSL_AT) {
    uint l = msl_lane_id(), n = msl_lane_count(), k = (l + n - d % n) % n;
    T a = simd_shuffle(v, k MSL_L), b = simd_shuffle(fill, k MSL_L);
    return l >= d ? a : b;
}
#define MSL_RED(name, expr) \
    template <class T> MSL_INL T name(T v, MSL_AT) { return msl_reduce(v, [](T a, T b) { return T(expr); } MSL_L); }
MSL_RED(simd_sum, a + b) MSL_RED(simd_product, a * b) MSL_RED(simd_max, max(a, b)) MSL_RED(simd_min, min(a, b))
MSL_RED(simd_and, a & b) MSL_RED(simd_or, a | b) MSL_RED(simd_xor, a ^ b)
#undef MSL_RED
template <class T> MSL_INL T simd_prefix_inclusive_sum(T v, MSL_AT) {
    uint l = msl_lane_id();
    for (uint d = 1; d < 32; d *= 2) {
        T o = simd_shuffle(v, l >= d ? l - d : l MSL_L);
        v = l >= d ? T(v + o) : v;
    }
    return v;
}
template <class T> MSL_INL T simd_prefix_exclusive_sum(T v, MSL_AT) { return simd_prefix_inclusive_sum(v MSL_L) - v; }
template <class T> MSL_INL T simd_prefix_inclusive_product(T v, MSL_AT) {
    uint l = msl_lane_id();
    for (uint d = 1; d < 32; d *= 2) {
        T o = simd_shuffle(v, l >= d ? l - d : l MSL_L);
        v = l >= d ? T(v * o) : v;
    }
    return v;
}
template <class T> MSL_INL T simd_prefix_exclusive_product(T v, MSL_AT) {
    const T p = simd_prefix_inclusive_product(v MSL_L);
    const uint l = msl_lane_id();
    const T before = simd_shuffle(p, l ? l - 1 : 0 MSL_L);
    return l ? before : T(1);
}
MSL_INL bool simd_is_first(MSL_AT) { return msl_lane_id() == 0; }
MSL_INL simd_vote simd_active_threads_mask(MSL_AT) { return simd_ballot(true MSL_L); }
}  // namespace metal
