// What Apple's compiler and its metal_stdlib declare, for parsing kernels as C++14 with clang (flat-parse).
//
// A name that is not here is not in Apple's library, so far as this project's kernels and ordinary kernels of others go;
// textures, ray tracing and mesh shaders are left out. Declarations follow chapters 2 and 6 of the Metal Shading Language
// specification: one overload for each type, as in Apple's library, so that a call which is ambiguous there is so here.
// Address spaces are words without meaning here: `address_space.rs` checks them, the census reads them from the text.
#define kernel
#define device
#define constant const
#define thread
#define threadgroup
#define METAL_FUNC inline __attribute__((__always_inline__))

// Section 2.1.
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Float16 half;
typedef __bf16 bfloat;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
typedef long intptr_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
constexpr half operator""h(long double x) { return half(x); }
constexpr half operator""H(long double x) { return half(x); }
constexpr bfloat operator""bf(long double x) { return bfloat(float(x)); }
constexpr bfloat operator""BF(long double x) { return bfloat(float(x)); }

// Section 2.2. The constructors of vectors are calls of `__make`: clang has none for vectors.
#define __VECTORS(T) \
    typedef T T##2 __attribute__((ext_vector_type(2))); \
    typedef T T##3 __attribute__((ext_vector_type(3))); \
    typedef T T##4 __attribute__((ext_vector_type(4)));
__VECTORS(bool) __VECTORS(char) __VECTORS(uchar) __VECTORS(short) __VECTORS(ushort) __VECTORS(int) __VECTORS(uint)
__VECTORS(long) __VECTORS(ulong) __VECTORS(half) __VECTORS(float) __VECTORS(bfloat)
#undef __VECTORS
template <class V, class... A> constexpr V __make(A...);

namespace metal {
using ::uchar; using ::ushort; using ::uint; using ::ulong; using ::half; using ::bfloat; using ::size_t; using ::ptrdiff_t;
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));

// Section 2.2.3.
template <class T, int N> struct packed_vec {
    T __v[N];
    packed_vec() = default;
    packed_vec(vec<T, N>);
    template <class... A> packed_vec(T, T, A...);
    operator vec<T, N>() const;
    T& operator[](size_t);
    T operator[](size_t) const;
    T x, y, z, w;
};
#define __O(o) template <class T, int N> vec<T, N> operator o(packed_vec<T, N>, T); template <class T, int N> vec<T, N> operator o(T, packed_vec<T, N>);
__O(+) __O(-) __O(*) __O(/)
#undef __O
}
#define __PACKED(T) typedef metal::packed_vec<T, 2> packed_##T##2; typedef metal::packed_vec<T, 3> packed_##T##3; typedef metal::packed_vec<T, 4> packed_##T##4;
__PACKED(char) __PACKED(uchar) __PACKED(short) __PACKED(ushort) __PACKED(int) __PACKED(uint) __PACKED(half) __PACKED(float)
#undef __PACKED

// Section 2.20.
template <class To, class From> constexpr To as_type(From f) {
    static_assert(sizeof(To) == sizeof(From), "as_type needs types of one size");
    return __builtin_bit_cast(To, f);
}

namespace metal {
// Sections 2.3 and 6.6.
template <class T, int C, int R> struct matrix {
    vec<T, R> columns[C];
    matrix() = default;
    explicit matrix(T);
    template <class... A> matrix(vec<T, R>, vec<T, R>, A...);
    vec<T, R>& operator[](int);
    vec<T, R> operator[](int) const;
};
template <class T, int C, int R> vec<T, R> operator*(matrix<T, C, R>, vec<T, C>);
template <class T, int C, int R> vec<T, C> operator*(vec<T, R>, matrix<T, C, R>);
template <class T, int C, int R> matrix<T, C, R> operator*(matrix<T, C, R>, T);
template <class T, int C, int R> matrix<T, C, R> operator+(matrix<T, C, R>, matrix<T, C, R>);
template <class T, int C, int K, int R> matrix<T, C, R> operator*(matrix<T, K, R>, matrix<T, C, K>);
template <class T, int C, int R> matrix<T, R, C> transpose(matrix<T, C, R>);
template <class T, int N> T determinant(matrix<T, N, N>);

// Type traits and limits (section 6.1: metal_type_traits, metal_limits).
template <class T, T V> struct integral_constant { static constexpr T value = V; typedef T value_type; constexpr operator T() const { return V; } };
template <bool B> using bool_constant = integral_constant<bool, B>;
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> constexpr bool is_same_v = is_same<A, B>::value;
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T&> { typedef T type; };
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_cv { typedef T type; };
template <class T> struct remove_cv<const T> { typedef T type; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> struct remove_const { typedef T type; };
template <class T> struct remove_const<const T> { typedef T type; };
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_addrspace_t = T;
template <class T> using uniform = T;
template <class T> constexpr T make_uniform(T x) { return x; }
template <class T> struct remove_pointer { typedef T type; };
template <class T> struct remove_pointer<T*> { typedef T type; };
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using remove_volatile_t = T;
template <class T> struct make_unsigned { typedef __make_unsigned(T) type; };
template <class T> struct make_signed { typedef __make_signed(T) type; };
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> using make_signed_t = typename make_signed<T>::type;
template <class A, class B> struct is_convertible : integral_constant<bool, __is_convertible(A, B)> {};
template <class A, class B> constexpr bool is_convertible_v = __is_convertible(A, B);
template <class T> struct is_integral : integral_constant<bool, __is_integral(T)> {};
template <class T> constexpr bool is_integral_v = __is_integral(T);
template <class T> struct is_floating_point : integral_constant<bool, __is_floating_point(T)> {};
template <class T> constexpr bool is_floating_point_v = __is_floating_point(T);
template <class T> struct is_arithmetic : integral_constant<bool, __is_arithmetic(T)> {};
template <class T> constexpr bool is_arithmetic_v = __is_arithmetic(T);
template <class T> struct is_signed : integral_constant<bool, __is_signed(T)> {};
template <class T> constexpr bool is_signed_v = __is_signed(T);
template <class T> struct is_unsigned : integral_constant<bool, __is_unsigned(T)> {};
template <class T> constexpr bool is_unsigned_v = __is_unsigned(T);
template <class T> struct is_scalar : integral_constant<bool, __is_scalar(T)> {};
template <class T> struct is_empty : integral_constant<bool, __is_empty(T)> {};
template <class T> constexpr bool is_empty_v = __is_empty(T);
template <class...> using void_t = void;
template <class T> struct vec_elements : integral_constant<int, 1> {};
template <class T, int N> struct vec_elements<T __attribute__((ext_vector_type(N)))> : integral_constant<int, N> {};
template <class T> struct make_scalar { typedef T type; };
template <class T, int N> struct make_scalar<T __attribute__((ext_vector_type(N)))> { typedef T type; };
template <class T> using make_scalar_t = typename make_scalar<T>::type;
template <class T> struct numeric_limits {
    static constexpr int digits = 0;
    static constexpr int max_digits10 = 0;
    static constexpr T max() { return T(); }
    static constexpr T min() { return T(); }
    static constexpr T lowest() { return T(); }
    static constexpr T infinity() { return T(); }
    static constexpr T quiet_NaN() { return T(); }
    static constexpr T epsilon() { return T(); }
    static constexpr T denorm_min() { return T(); }
};
template <class T, size_t N> struct array {
    T __v[N];
    constexpr T& operator[](size_t i) { return __v[i]; }
    constexpr const T& operator[](size_t i) const { return __v[i]; }
    constexpr size_t size() const { return N; }
};

#define __INTEGERS(F) F(char) F(uchar) F(short) F(ushort) F(int) F(uint) F(long) F(ulong)
#define __FLOATS(F) F(half) F(float)
#define __V template <class T, int N>
#define __VT vec<T, N>

// Section 6.3: integers.
#define __F(T) \
    constexpr T abs(T); constexpr T absdiff(T, T); constexpr T addsat(T, T); constexpr T clamp(T, T, T); constexpr T clz(T); constexpr T ctz(T); \
    constexpr T extract_bits(T, uint, uint); constexpr T hadd(T, T); constexpr T insert_bits(T, T, uint, uint); constexpr T madhi(T, T, T); \
    constexpr T madsat(T, T, T); constexpr T max(T, T); constexpr T max3(T, T, T); constexpr T median3(T, T, T); constexpr T min(T, T); \
    constexpr T min3(T, T, T); constexpr T mulhi(T, T); constexpr T popcount(T); constexpr T reverse_bits(T); constexpr T rhadd(T, T); \
    constexpr T rotate(T, T); constexpr T subsat(T, T); constexpr T select(T, T, bool);
__INTEGERS(__F)
#undef __F
constexpr int mad24(int, int, int); constexpr uint mad24(uint, uint, uint); constexpr int mul24(int, int); constexpr uint mul24(uint, uint);
bool select(bool, bool, bool);

// Sections 6.2, 6.4 and 6.5: numbers with a point.
#define __F1(F, T) F(T, acos) F(T, acosh) F(T, asin) F(T, asinh) F(T, atan) F(T, atanh) F(T, ceil) F(T, cos) F(T, cosh) F(T, cospi) \
    F(T, exp) F(T, exp2) F(T, exp10) F(T, fabs) F(T, abs) F(T, floor) F(T, fract) F(T, log) F(T, log2) F(T, log10) F(T, rint) F(T, round) \
    F(T, rsqrt) F(T, saturate) F(T, sign) F(T, sin) F(T, sinh) F(T, sinpi) F(T, sqrt) F(T, tan) F(T, tanh) F(T, tanpi) F(T, trunc)
#define __F2(F, T) F(T, atan2) F(T, copysign) F(T, divide) F(T, fdim) F(T, fmax) F(T, fmin) F(T, fmod) F(T, max) F(T, min) F(T, nextafter) \
    F(T, pow) F(T, powr) F(T, step)
#define __F3(F, T) F(T, clamp) F(T, fma) F(T, fmax3) F(T, fmin3) F(T, fmedian3) F(T, max3) F(T, min3) F(T, median3) F(T, mix) F(T, smoothstep)
#define __D1(T, n) T n(T);
#define __D2(T, n) T n(T, T);
#define __D3(T, n) T n(T, T, T);
// Vectors of floats one by one: arguments that are numbers, or packed vectors, become vectors.
#define __DV1(T, n) T##2 n(T##2); T##3 n(T##3); T##4 n(T##4);
#define __DV2(T, n) T##2 n(T##2, T##2); T##3 n(T##3, T##3); T##4 n(T##4, T##4);
#define __DV3(T, n) T##2 n(T##2, T##2, T##2); T##3 n(T##3, T##3, T##3); T##4 n(T##4, T##4, T##4);
#define __F(T) __F1(__D1, T) __F2(__D2, T) __F3(__D3, T) T select(T, T, bool); T ldexp(T, int); T modf(T, thread T&); T frexp(T, thread int&); \
    T sincos(T, thread T&); int ilogb(T); bool isnan(T); bool isinf(T); bool isfinite(T); bool isnormal(T); bool signbit(T); bool isunordered(T, T);
__FLOATS(__F)
#undef __F
bfloat max(bfloat, bfloat); bfloat min(bfloat, bfloat); bfloat select(bfloat, bfloat, bool);
__F1(__DV1, float) __F2(__DV2, float) __F3(__DV3, float) __F1(__DV1, half) __F2(__DV2, half) __F3(__DV3, half)
__V __VT abs(__VT); __V __VT max(__VT, __VT); __V __VT min(__VT, __VT); __V __VT clamp(__VT, __VT, __VT);
__V __VT max3(__VT, __VT, __VT); __V __VT min3(__VT, __VT, __VT); __V __VT median3(__VT, __VT, __VT);
__V __VT absdiff(__VT, __VT); __V __VT clz(__VT); __V __VT ctz(__VT); __V __VT popcount(__VT); __V __VT reverse_bits(__VT); __V __VT mulhi(__VT, __VT);
__V __VT addsat(__VT, __VT); __V __VT subsat(__VT, __VT); __V __VT rotate(__VT, __VT);
__V __VT ldexp(__VT, vec<int, N>); template <class T, int N, class M> __VT select(__VT, __VT, vec<M, N>); __V __VT select(__VT, __VT, bool);
__V bool any(__VT); __V bool all(__VT); bool any(bool); bool all(bool);
__V vec<bool, N> isnan(__VT); __V vec<bool, N> isinf(__VT); __V vec<bool, N> isfinite(__VT);
namespace precise { __F1(__D1, float) __F2(__D2, float) __F3(__D3, float) __F1(__DV1, float) __F2(__DV2, float) __F3(__DV3, float) }
namespace fast { __F1(__D1, float) __F2(__D2, float) __F3(__D3, float) __F1(__DV1, float) __F2(__DV2, float) __F3(__DV3, float) }

// Section 6.8: geometry.
#define __F(T, V) T dot(V, V); T length(V); T length_squared(V); T distance(V, V); T distance_squared(V, V); V normalize(V); V reflect(V, V); \
    V faceforward(V, V, V); V refract(V, V, T);
__F(float, float2) __F(float, float3) __F(float, float4) __F(half, half2) __F(half, half3) __F(half, half4)
#undef __F
float3 cross(float3, float3); half3 cross(half3, half3);

// Section 6.9: synchronization, SIMD-groups and quad-groups.
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4, mem_threadgroup_imageblock = 8 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
enum thread_scope { thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device };
void threadgroup_barrier(mem_flags); void threadgroup_barrier(mem_flags, thread_scope); void simdgroup_barrier(mem_flags);
struct simd_vote { typedef ulong vote_t; explicit constexpr simd_vote(vote_t = 0); explicit operator vote_t() const; bool all() const; bool any() const; };
simd_vote simd_ballot(bool); simd_vote simd_active_threads_mask();
bool simd_all(bool); bool simd_any(bool); bool simd_is_first(); bool simd_is_helper_thread(); bool quad_all(bool); bool quad_any(bool); bool quad_is_first();
#define __SHUFFLES(g) \
    __G(g##_broadcast, ushort) __G(g##_shuffle, ushort) __G(g##_shuffle_up, ushort) __G(g##_shuffle_down, ushort) __G(g##_shuffle_xor, ushort) \
    __G(g##_shuffle_rotate_up, ushort) __G(g##_shuffle_rotate_down, ushort)
#define __SUMS(F, g) F(g##_broadcast_first) F(g##_max) F(g##_min) F(g##_product) F(g##_sum) F(g##_prefix_exclusive_product) \
    F(g##_prefix_exclusive_sum) F(g##_prefix_inclusive_product) F(g##_prefix_inclusive_sum)
// 8, 16 and 32 bits: section 6.9.2 has no functions on 64-bit types but for ballots.
#define __G(n, I) char n(char, I); uchar n(uchar, I); short n(short, I); ushort n(ushort, I); int n(int, I); uint n(uint, I); half n(half, I); \
    float n(float, I); bool n(bool, I); __V __VT n(__VT, I);
__SHUFFLES(simd) __SHUFFLES(quad)
#undef __G
#define __G(n) char n(char); uchar n(uchar); short n(short); ushort n(ushort); int n(int); uint n(uint); half n(half); float n(float); __V __VT n(__VT);
__SUMS(__G, simd) __SUMS(__G, quad)
#undef __G
#define __G(n) char n(char); uchar n(uchar); short n(short); ushort n(ushort); int n(int); uint n(uint); __V __VT n(__VT);
__G(simd_and) __G(simd_or) __G(simd_xor) __G(quad_and) __G(quad_or) __G(quad_xor)
#undef __G
#define __G(T) T simd_shuffle_and_fill_up(T, T, ushort); T simd_shuffle_and_fill_down(T, T, ushort);
__G(short) __G(ushort) __G(int) __G(uint) __G(half) __G(float)
#undef __G

// Sections 2.4 and 6.7: SIMD-group matrices.
template <class T, int C, int R> struct simdgroup_matrix {
    T __v[2];
    simdgroup_matrix() = default;
    explicit simdgroup_matrix(T);
    vec<T, 2>& thread_elements();
    vec<T, 2> thread_elements() const;
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
template <class T, int C, int R = C> simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T);
template <class T, int C, int R> void simdgroup_load(thread simdgroup_matrix<T, C, R>&, const T*, ulong = C, ulong2 = 0, bool = false);
template <class T, int C, int R> void simdgroup_store(simdgroup_matrix<T, C, R>, T*, ulong = C, ulong2 = 0, bool = false);
template <class A, class B, class S, class D> void simdgroup_multiply_accumulate(thread D&, A, B, S);
template <class A, class B, class D> void simdgroup_multiply(thread D&, A, B);

// Sections 2.6 and 6.15: atomics.
enum memory_order { memory_order_relaxed, memory_order_seq_cst };
template <class T> struct atomic {
    atomic() = default;
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;
    T __s;
};
typedef atomic<uint> atomic_uint;
typedef atomic<int> atomic_int;
typedef atomic<bool> atomic_bool;
typedef atomic<ulong> atomic_ulong;
typedef atomic<float> atomic_float;
template <class T> struct __value { typedef T type; };
#define __T typename __value<T>::type
template <class T> T atomic_load_explicit(const volatile atomic<T>*, memory_order);
template <class T> void atomic_store_explicit(volatile atomic<T>*, __T, memory_order);
template <class T> T atomic_exchange_explicit(volatile atomic<T>*, __T, memory_order);
template <class T> bool atomic_compare_exchange_weak_explicit(volatile atomic<T>*, thread T*, __T, memory_order, memory_order);
#define __A(n) template <class T> T atomic_fetch_##n##_explicit(volatile atomic<T>*, __T, memory_order);
__A(add) __A(and) __A(max) __A(min) __A(or) __A(sub) __A(xor)
#undef __A
void atomic_thread_fence(mem_flags, memory_order); void atomic_thread_fence(mem_flags, memory_order, thread_scope);

// Section 6.14: packing.
uint pack_float_to_unorm4x8(float4); uint pack_float_to_snorm4x8(float4); uint pack_float_to_unorm2x16(float2); uint pack_float_to_snorm2x16(float2);
uint pack_half_to_unorm4x8(half4); uint pack_half_to_snorm4x8(half4); float4 unpack_unorm4x8_to_float(uint); float4 unpack_snorm4x8_to_float(uint);
float2 unpack_unorm2x16_to_float(uint); float2 unpack_snorm2x16_to_float(uint); half4 unpack_unorm4x8_to_half(uint); half4 unpack_snorm4x8_to_half(uint);
#undef __T
#undef __V
#undef __VT
}
#define __MATRICES(T) \
    typedef metal::matrix<T, 2, 2> T##2x2; typedef metal::matrix<T, 2, 3> T##2x3; typedef metal::matrix<T, 2, 4> T##2x4; \
    typedef metal::matrix<T, 3, 2> T##3x2; typedef metal::matrix<T, 3, 3> T##3x3; typedef metal::matrix<T, 3, 4> T##3x4; \
    typedef metal::matrix<T, 4, 2> T##4x2; typedef metal::matrix<T, 4, 3> T##4x3; typedef metal::matrix<T, 4, 4> T##4x4;
__MATRICES(float) __MATRICES(half)
#undef __MATRICES

// Section 6.5: constants.
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define MAXFLOAT 3.40282346638528859812e+38f
#define HUGE_VALF __builtin_huge_valf()
#define FLT_MAX 3.40282346638528859812e+38f
#define FLT_MIN 1.17549435082228750797e-38f
#define FLT_EPSILON 1.1920928955078125e-07f
#define HALF_MAX 65504.0h
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define M_E_F 2.71828174591064453125f
#define M_LOG2E_F 1.44269502162933349609375f
#define M_LOG10E_F 0.4342944920063018798828125f
#define M_LN2_F 0.693147182464599609375f
#define M_LN10_F 2.302585124969482421875f
#define M_PI_F 3.1415927410125732421875f
#define M_PI_2_F 1.57079637050628662109375f
#define M_PI_4_F 0.785398185253143310546875f
#define M_1_PI_F 0.3183098733425140380859375f
#define M_2_PI_F 0.636619746685028076171875f
#define M_2_SQRTPI_F 1.12837922573089599609375f
#define M_SQRT2_F 1.41421353816986083984375f
#define M_SQRT1_2_F 0.707106769084930419921875f

#define bool2(...) __make<bool2>(__VA_ARGS__)
#define bool3(...) __make<bool3>(__VA_ARGS__)
#define bool4(...) __make<bool4>(__VA_ARGS__)
#define char2(...) __make<char2>(__VA_ARGS__)
#define char3(...) __make<char3>(__VA_ARGS__)
#define char4(...) __make<char4>(__VA_ARGS__)
#define uchar2(...) __make<uchar2>(__VA_ARGS__)
#define uchar3(...) __make<uchar3>(__VA_ARGS__)
#define uchar4(...) __make<uchar4>(__VA_ARGS__)
#define short2(...) __make<short2>(__VA_ARGS__)
#define short3(...) __make<short3>(__VA_ARGS__)
#define short4(...) __make<short4>(__VA_ARGS__)
#define ushort2(...) __make<ushort2>(__VA_ARGS__)
#define ushort3(...) __make<ushort3>(__VA_ARGS__)
#define ushort4(...) __make<ushort4>(__VA_ARGS__)
#define int2(...) __make<int2>(__VA_ARGS__)
#define int3(...) __make<int3>(__VA_ARGS__)
#define int4(...) __make<int4>(__VA_ARGS__)
#define uint2(...) __make<uint2>(__VA_ARGS__)
#define uint3(...) __make<uint3>(__VA_ARGS__)
#define uint4(...) __make<uint4>(__VA_ARGS__)
#define long2(...) __make<long2>(__VA_ARGS__)
#define long3(...) __make<long3>(__VA_ARGS__)
#define long4(...) __make<long4>(__VA_ARGS__)
#define ulong2(...) __make<ulong2>(__VA_ARGS__)
#define ulong3(...) __make<ulong3>(__VA_ARGS__)
#define ulong4(...) __make<ulong4>(__VA_ARGS__)
#define half2(...) __make<half2>(__VA_ARGS__)
#define half3(...) __make<half3>(__VA_ARGS__)
#define half4(...) __make<half4>(__VA_ARGS__)
#define float2(...) __make<float2>(__VA_ARGS__)
#define float3(...) __make<float3>(__VA_ARGS__)
#define float4(...) __make<float4>(__VA_ARGS__)
