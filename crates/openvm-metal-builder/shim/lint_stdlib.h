// The Metal standard library as declarations, for checking address spaces with clang's C++ for OpenCL.
#pragma once
#define device __attribute__((opencl_global_host))
#define constant const __attribute__((opencl_global_device))
#define MSL_TABLE __constant const
#define thread __private
#define threadgroup __local
#define MSL_KERNEL
#define MSL_GUARD(cond) if (cond) return;
#define MSL_TG(n) threadgroup n##__t& n = *(threadgroup n##__t*)0
#define MSL_UNROLL
#define MSL_ROLLED
#define METAL_FUNC inline
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
typedef unsigned long size_t; typedef long int64_t; typedef unsigned long uint64_t; typedef int int32_t; typedef uint uint32_t;
typedef short int16_t; typedef ushort uint16_t; typedef signed char int8_t; typedef uchar uint8_t;
typedef float half_;
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
namespace metal {
template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));
}
#define MSL_V(T) typedef T T##2 __attribute__((ext_vector_type(2))); typedef T T##3 __attribute__((ext_vector_type(3))); typedef T T##4 __attribute__((ext_vector_type(4)));
MSL_V(uint) MSL_V(int) MSL_V(float) MSL_V(ushort) MSL_V(short) MSL_V(uchar) MSL_V(ulong) MSL_V(long) MSL_V(half)
#undef MSL_V
template <class V, class... A> V msl_make(A... a);
template <class T, class U> T msl_as_type(U u);
#define as_type msl_as_type
namespace metal {
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
mem_flags operator|(mem_flags, mem_flags);
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);
template <class A, class B> auto min(A a, B b) { return a < b ? a : b; }
template <class A, class B> auto max(A a, B b) { return a < b ? b : a; }
template <class T, class A, class B> T clamp(T, A, B);
template <class T> T select(T, T, bool);
template <class T> T abs(T); template <class T> T absdiff(T, T);
uint mulhi(uint, uint); int mulhi(int, int); ulong mulhi(ulong, ulong);
template <class T> T popcount(T); template <class T> T clz(T); template <class T> T ctz(T); template <class T> T reverse_bits(T);
template <class T> T rotate(T, T); template <class T> T extract_bits(T, uint, uint); template <class T> T insert_bits(T, T, uint, uint);
template <class T> bool any(T); template <class T> bool all(T);
#define MSL_F1(n) template <class T> T n(T);
MSL_F1(sin) MSL_F1(cos) MSL_F1(tan) MSL_F1(asin) MSL_F1(acos) MSL_F1(atan) MSL_F1(sinh) MSL_F1(cosh) MSL_F1(tanh) MSL_F1(exp) MSL_F1(exp2)
MSL_F1(exp10) MSL_F1(log) MSL_F1(log2) MSL_F1(log10) MSL_F1(sqrt) MSL_F1(rsqrt) MSL_F1(floor) MSL_F1(ceil) MSL_F1(trunc) MSL_F1(round)
MSL_F1(rint) MSL_F1(fabs) MSL_F1(fract) MSL_F1(saturate) MSL_F1(sign) MSL_F1(normalize)
#undef MSL_F1
template <class T> T pow(T, T); template <class T> T powr(T, T); template <class T> T atan2(T, T); template <class T> T fmod(T, T);
template <class T> T fmin(T, T); template <class T> T fmax(T, T); template <class T> T copysign(T, T); template <class T> T step(T, T);
template <class T> T fma(T, T, T); template <class T> T mix(T, T, T);
template <class T, int N> T dot(vec<T, N>, vec<T, N>); template <class T, int N> T length(vec<T, N>);
template <class T> T simd_shuffle(T v, ushort) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_broadcast(T v, ushort) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_broadcast_first(T v) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_shuffle_xor(T v, ushort) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_shuffle_up(T v, ushort) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_shuffle_down(T v, ushort) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_sum(T); template <class T> T simd_product(T); template <class T> T simd_min(T); template <class T> T simd_max(T);
template <class T> T simd_and(T); template <class T> T simd_or(T); template <class T> T simd_xor(T);
template <class T> T simd_prefix_inclusive_sum(T); template <class T> T simd_prefix_exclusive_sum(T);
bool simd_any(bool); bool simd_all(bool); ulong simd_ballot(bool);
enum msl_memory_order { memory_order_relaxed };
typedef msl_memory_order memory_order;
template <class T> struct msl_atomic { T v; };
#define atomic msl_atomic
#define atomic_uint msl_atomic<uint>
#define atomic_int msl_atomic<int>
#define atomic_ulong msl_atomic<ulong>
#define MSL_AT(name) template <class P, class V> uint atomic_##name##_explicit(P, V, memory_order);
MSL_AT(fetch_add) MSL_AT(fetch_sub) MSL_AT(fetch_min) MSL_AT(fetch_max) MSL_AT(fetch_and) MSL_AT(fetch_or) MSL_AT(fetch_xor) MSL_AT(store) MSL_AT(exchange)
#undef MSL_AT
template <class P> uint atomic_load_explicit(P, memory_order);
template <class P, class E, class V> bool atomic_compare_exchange_weak_explicit(P, E, V, memory_order, memory_order);
template <class T> struct numeric_limits { static constexpr T max(); static constexpr T min(); static constexpr T lowest(); static constexpr T infinity(); };
template <bool B, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class A, class B> constexpr bool is_same_v = __is_same(A, B);
template <bool B, class T = void> struct enable_if {}; template <class T> struct enable_if<true, T> { using type = T; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
}
