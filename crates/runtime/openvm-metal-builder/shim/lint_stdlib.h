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
// Names that are ordinary in Metal and keywords in OpenCL.
#define local msl_local
#define global msl_global
#define private msl_private
#define generic msl_generic
#define pipe msl_pipe
#define read_only msl_read_only
#define write_only msl_write_only
#define read_write msl_read_write
#define event_t msl_event_t
#define MSL_INL inline
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
typedef unsigned long size_t; typedef long int64_t; typedef unsigned long uint64_t; typedef int int32_t; typedef uint uint32_t;
typedef short int16_t; typedef ushort uint16_t; typedef signed char int8_t; typedef uchar uint8_t;
typedef float half_; typedef long ptrdiff_t;
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
namespace metal {
template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));
}
#define MSL_V(T) typedef T T##2 __attribute__((ext_vector_type(2))); typedef T T##3 __attribute__((ext_vector_type(3))); typedef T T##4 __attribute__((ext_vector_type(4)));
MSL_V(uint) MSL_V(int) MSL_V(float) MSL_V(ushort) MSL_V(short) MSL_V(uchar) MSL_V(ulong) MSL_V(long) MSL_V(half) MSL_V(char)
#undef MSL_V
#define MSL_NUMBERS(X) X(char) X(uchar) X(short) X(ushort) X(int) X(uint) X(long) X(ulong) X(half) X(float)
template <class T> struct msl_same { typedef T type; };
template <class V> struct msl_vec_info;
template <class T> struct msl_count { static constexpr int value = 1; };
template <class T, int N> struct msl_vec_info<T __attribute__((ext_vector_type(N)))> { typedef T elem; static constexpr int size = N; };
template <class T, int N> struct msl_count<T __attribute__((ext_vector_type(N)))> { static constexpr int value = N; };
namespace metal {
template <bool B, class T = void> struct enable_if {}; template <class T> struct enable_if<true, T> { using type = T; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
}
#include "msl_constants.h"
#include "msl_mixed.h"
template <class T, class U> T msl_static_cast(U u) { return static_cast<T>(u); }
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
template <class T, int N, class M> vec<T, N> select(vec<T, N>, vec<T, N>, vec<M, N>);
template <class T> T abs(T); template <class T> T absdiff(T, T);
uint mulhi(uint, uint); int mulhi(int, int); ulong mulhi(ulong, ulong);
template <class T> T popcount(T); template <class T> T clz(T); template <class T> T ctz(T); template <class T> T reverse_bits(T);
template <class T> T rotate(T, T); template <class T> T extract_bits(T, uint, uint); template <class T> T insert_bits(T, T, uint, uint);
template <class T> bool any(T); template <class T> bool all(T);
bool isnan(float); bool isinf(float); bool isfinite(float); bool signbit(float); float ldexp(float, int);
#define MSL_N2(n) template <class T> T n(T, T); MSL_MIXED2(n)
#define MSL_N3(n) template <class T> T n(T, T, T); MSL_MIXED3(n)
MSL_N2(addsat) MSL_N2(subsat) MSL_N2(hadd) MSL_N2(rhadd) MSL_N2(mul24) MSL_N3(mad24) MSL_N3(madhi) MSL_N3(madsat)
template <class T> T min3(T, T, T); template <class T> T max3(T, T, T);
#define MSL_F1(n) template <class T> T n(T);
MSL_F1(sin) MSL_F1(cos) MSL_F1(tan) MSL_F1(asin) MSL_F1(acos) MSL_F1(atan) MSL_F1(sinh) MSL_F1(cosh) MSL_F1(tanh) MSL_F1(exp) MSL_F1(exp2)
MSL_F1(exp10) MSL_F1(log) MSL_F1(log2) MSL_F1(log10) MSL_F1(sqrt) MSL_F1(rsqrt) MSL_F1(floor) MSL_F1(ceil) MSL_F1(trunc) MSL_F1(round)
MSL_F1(rint) MSL_F1(fabs) MSL_F1(fract) MSL_F1(saturate) MSL_F1(sign) MSL_F1(normalize) MSL_F1(asinh) MSL_F1(acosh) MSL_F1(atanh)
#undef MSL_F1
template <class T> T sincos(T, thread T&);
MSL_N2(pow) MSL_N2(powr) MSL_N2(atan2) MSL_N2(fmod) MSL_N2(fmin) MSL_N2(fmax) MSL_N2(copysign) MSL_N2(step) MSL_N2(fdim) MSL_N2(divide)
MSL_N3(fma) MSL_N3(mix) MSL_N3(smoothstep)
#undef MSL_N2
#undef MSL_N3
template <class T, int N> T dot(vec<T, N>, vec<T, N>); template <class T, int N> T length(vec<T, N>); template <class T, int N> T length_squared(vec<T, N>);
template <class T, int N> T distance(vec<T, N>, vec<T, N>); template <class T, int N> T distance_squared(vec<T, N>, vec<T, N>);
template <class T> vec<T, 3> cross(vec<T, 3>, vec<T, 3>); template <class T, int N> vec<T, N> reflect(vec<T, N>, vec<T, N>);
template <class T, int N> vec<T, N> faceforward(vec<T, N>, vec<T, N>, vec<T, N>); template <class T, int N> vec<T, N> refract(vec<T, N>, vec<T, N>, T);
MSL_MIXED2(dot) MSL_MIXED2(distance) MSL_MIXED2(distance_squared) MSL_MIXED2(cross) MSL_MIXED2(reflect)
namespace precise { using namespace metal; }
namespace fast { using namespace metal; }
template <class T> T simd_shuffle(T v, ushort) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_broadcast(T v, ushort) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_broadcast_first(T v) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_shuffle_xor(T v, ushort) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_shuffle_up(T v, ushort) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_shuffle_down(T v, ushort) { static_assert(sizeof(T) <= 4, "shuffled values have at most 4 bytes"); return v; }
template <class T> T simd_sum(T); template <class T> T simd_product(T); template <class T> T simd_min(T); template <class T> T simd_max(T);
template <class T> T simd_and(T); template <class T> T simd_or(T); template <class T> T simd_xor(T);
template <class T> T simd_prefix_inclusive_sum(T); template <class T> T simd_prefix_exclusive_sum(T);
#define MSL_Q(n) template <class T> T quad_##n(T);
MSL_Q(sum) MSL_Q(product) MSL_Q(min) MSL_Q(max) MSL_Q(and) MSL_Q(or) MSL_Q(xor) MSL_Q(broadcast_first)
#undef MSL_Q
template <class T> T quad_broadcast(T, ushort); template <class T> T quad_shuffle(T, ushort); template <class T> T quad_shuffle_xor(T, ushort);
template <class T> T quad_shuffle_up(T, ushort); template <class T> T quad_shuffle_down(T, ushort); bool quad_any(bool); bool quad_all(bool);
bool simd_any(bool); bool simd_all(bool); ulong simd_ballot(bool);
template <class T, int COLUMNS, int ROWS> struct simdgroup_matrix { T elements[2]; };
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8; typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
template <class T, int C, int R = C> simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T);
template <class M, class P> void simdgroup_load(thread M&, P, ulong = 8, ulong2 = 0, bool = false);
template <class M, class P> void simdgroup_store(M, P, ulong = 8, ulong2 = 0, bool = false);
template <class D, class A, class B, class S> void simdgroup_multiply_accumulate(thread D&, A, B, S);
template <class D, class A, class B> void simdgroup_multiply(thread D&, A, B);
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
template <class T> struct numeric_limits { static constexpr T max(); static constexpr T min(); static constexpr T lowest(); static constexpr T infinity(); static constexpr T denorm_min(); static constexpr T epsilon(); static constexpr T quiet_NaN(); };
template <class T, T V> struct integral_constant { static constexpr T value = V; typedef T value_type; };
typedef integral_constant<bool, true> true_type; typedef integral_constant<bool, false> false_type;
template <class T> constexpr bool is_floating_point_v = __is_floating_point(T); template <class T> constexpr bool is_integral_v = __is_integral(T);
template <class T> constexpr bool is_signed_v = __is_signed(T); template <class T> constexpr bool is_unsigned_v = __is_unsigned(T);
template <class T> struct is_floating_point : integral_constant<bool, __is_floating_point(T)> {}; template <class T> struct is_integral : integral_constant<bool, __is_integral(T)> {};
template <class T> struct is_signed : integral_constant<bool, __is_signed(T)> {}; template <class T> struct is_unsigned : integral_constant<bool, __is_unsigned(T)> {};
template <class A, class B> struct is_same : integral_constant<bool, __is_same(A, B)> {};
template <bool B, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class A, class B> constexpr bool is_same_v = __is_same(A, B);
}
