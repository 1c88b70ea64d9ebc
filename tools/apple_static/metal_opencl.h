// What the kernels use of Metal, for clang's C++ for OpenCL: built-in functions by the names that the SPIR-V
// translator knows, address spaces as in Metal.
#pragma OPENCL EXTENSION __cl_clang_non_portable_kernel_param_types : enable
#define device __global
#define constant const __attribute__((opencl_global_device))
#define thread __private
#define threadgroup __local
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long size_t;
#define VECTORS(T)                                                                              \
    typedef T T##2 __attribute__((ext_vector_type(2)));                                         \
    typedef T T##3 __attribute__((ext_vector_type(3)));                                         \
    typedef T T##4 __attribute__((ext_vector_type(4)));                                         \
    inline T##2 make_##T##2(T a) { return (T##2)(a); }                                          \
    inline T##2 make_##T##2(T a, T b) { return (T##2)(a, b); }                                  \
    inline T##3 make_##T##3(T a) { return (T##3)(a); }                                          \
    inline T##3 make_##T##3(T a, T b, T c) { return (T##3)(a, b, c); }                          \
    inline T##4 make_##T##4(T a) { return (T##4)(a); }                                          \
    inline T##4 make_##T##4(T a, T b, T c, T d) { return (T##4)(a, b, c, d); }
VECTORS(char) VECTORS(uchar) VECTORS(short) VECTORS(ushort) VECTORS(int) VECTORS(uint) VECTORS(long) VECTORS(ulong) VECTORS(float)
#undef VECTORS

size_t get_global_id(uint);
size_t get_local_id(uint);
size_t get_group_id(uint);
size_t get_local_size(uint);
void barrier(uint);
uint mul_hi(uint, uint);
uint __spirv_GroupNonUniformShuffle(uint, uint, uint);
uint __spirv_GroupNonUniformShuffleXor(uint, uint, uint);
bool __spirv_GroupNonUniformAny(uint, bool);
uint __spirv_BitReverse(uint);
uint atomic_add(volatile __global uint*, uint);
uint atomic_min(volatile __global uint*, uint);
// The operands of `?:` as values: OpenCL tells an object in memory from a temporary of the same class.
template <class T> constexpr T operand(T x) { return x; }

namespace metal {
enum class mem_flags { mem_none = 0, mem_device = 2, mem_threadgroup = 1 };
inline mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
inline void threadgroup_barrier(mem_flags f) { barrier(uint(f) | 1u); }
template <class T> inline T min(T a, T b) { return b < a ? b : a; }
template <class T> inline T max(T a, T b) { return a < b ? b : a; }
template <class T> inline T select(T a, T b, bool c) { return c ? b : a; }
inline uint mulhi(uint a, uint b) { return mul_hi(a, b); }
inline uint reverse_bits(uint x) { return __spirv_BitReverse(x); }
inline uint clz(uint x) { return x == 0u ? 32u : uint(__builtin_clz(x)); }
inline bool simd_any(bool v) { return __spirv_GroupNonUniformAny(3u, v); }
inline uint simd_shuffle(uint v, ushort lane) { return __spirv_GroupNonUniformShuffle(3u, v, lane); }
inline uint simd_shuffle_xor(uint v, ushort mask) { return __spirv_GroupNonUniformShuffleXor(3u, v, mask); }
#define atomic_uint msl_atomic_uint
struct atomic_uint { uint v; };
enum class order { relaxed };
#define memory_order_relaxed order::relaxed
inline uint atomic_load_explicit(volatile __global atomic_uint* p, order) { return p->v; }
inline uint atomic_fetch_add_explicit(volatile __global atomic_uint* p, uint v, order) { return atomic_add(&p->v, v); }
inline uint atomic_fetch_min_explicit(volatile __global atomic_uint* p, uint v, order) { return atomic_min(&p->v, v); }
}
