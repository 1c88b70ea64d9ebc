// Lanes where a value belongs to one thread: Apple GPUs, NVIDIA GPUs and the scalar CPU version.
// Every lane type is the plain scalar type. See docs/guide/write-a-kernel.md, "Lane kernels".
using namespace metal;

#define MSL_UNROLL _Pragma("clang loop unroll(full)")
#define MSL_ROLLED _Pragma("clang loop unroll(disable)")
// A large function: the driver keeps it apart if it is told to.
#define MSL_LARGE __attribute__((always_inline))

typedef uint uint_l;
typedef int int_l;
typedef ulong ulong_l;
typedef float float_l;
typedef bool bool_l;

// Thread indices as kernel parameters, and the index type for address arithmetic (64 bits).
typedef uint gid_l;
typedef uint2 gid2_l;
typedef uint3 gid3_l;
typedef uint tid_l;
typedef ulong index_l;

// First statement of a barrier lane kernel: the loop length that must be a multiple of the lanes.
#define LANE_MULTIPLE(n)
// Guards one iteration: `LANE_GUARD(i, n) { ... }`.
#define LANE_GUARD(i, n) if ((i) < (n))
// True for the one thread (or vector) of a threadgroup that stores uniform results.
#define LANE_LEADER(tid) ((tid) == 0)

// The lane type of an element type: specialise it for structs that are templates over the cell type.
template <typename T> struct lane_type { typedef T type; };

inline uint to_vec(index_l i) { return uint(i); }
template <typename P> inline auto lane_load(P p, index_l i) { return p[i]; }
template <typename P, typename V> inline void lane_store(P p, index_l i, V v) { p[i] = v; }
template <typename P> inline auto lane_gather(P p, uint i) { return p[i]; }
template <typename P, typename V> inline void lane_scatter(P p, uint i, V v) { p[i] = v; }
template <typename V> inline V lane_first(V v) { return v; }
inline bool lane_any(bool b) { return b; }
inline bool lane_all(bool b) { return b; }

// Montgomery product a b / 2^32 mod P for a prime P < 2^31, MU = P^-1 mod 2^32; a b < 2^32 P.
template <uint P, uint MU> inline uint lane_monty_mul(uint a, uint b) {
    uint hi = metal::mulhi(a, b);
    uint u = metal::mulhi(a * b * MU, P);
    uint r = hi - u;
    return metal::min(r, r + P);
}
