#pragma once
// What kernels that are written for the rules of one AIR call (src/constraints/generated/text.rs): values, loads, sums.
//
// A rule is an expression that is met many times with other columns: its text stands once, and each use has operands of
// its own, the same for all threads. `W` is a value at the points of a thread.
#include "../field/lane_ops.h"
#include "points.h"

/// Where a launch reads and writes. "Words" are 4 bytes.
struct RuleParams {
    ulong arena;         // word of variable 0 at point 0 of job 0
    ulong arena_stride;  // words between jobs
    ulong partials;      // word of plane 0 of accumulator 0 at point 0 of section 0 of job 0
    ulong partials_stride;  // words between jobs
    ulong section_stride;   // words
    uint column_stride;  // words between columns of the arena, or planes of them
    uint plane_stride;   // words between planes of the results: points of a job
    uint threads;        // of the grid
    uint log_group;       // threads that stay together
    uint log_threads;    // threads of a section of a job
    uint jobs;           // cosets, or values of X
    uint sections;
    uint table;          // first word of the kernel's sections among the tables
    uint operands;       // first word of the program's operands
    uint coefficients;   // first entry of the coefficient table
    uint uniforms;       // first entry of the uniform table
    uint unused;
};

/// What a thread computes: a section of the rules at the points from `first` on.
struct RuleShare {
    uint job, section;
    index_l place;   // among the threads of its section and job
};
inline RuleShare rule_share(constant RuleParams& p, index_l i) {
    uint group = uint(lane_div_pow2(i, p.log_group));
    uint rest = group / p.jobs;
    RuleShare s;
    s.job = group - rest * p.jobs;
    uint block = rest / p.sections;
    s.section = rest - block * p.sections;
    s.place = lane_mod_pow2(i, p.log_group) + (ulong(block) << p.log_group);
    return s;
}
/// Whether there is such a thread: on GPUs those that stay together may be more than there are. Vectors are whole.
#if LANE_WIDTH > 1
inline bool rule_inside(constant RuleParams& p, index_l place) { return true; }
#else
inline bool rule_inside(constant RuleParams& p, index_l place) { return place < (1ul << p.log_threads); }
#endif
/// The first of V points of a thread, and how far it is to the next: neighbours on GPUs, whole vectors on CPUs.
#if LANE_WIDTH > 1
inline index_l rule_first(index_l place, uint points) {
    index_l r = place;
    r.base = place.base * points;
    return r;
}
#else
inline index_l rule_first(index_l place, uint points) { return place * points; }
#endif
#define RULE_APART uint(LANE_WIDTH)

// ---- V points of a thread ------------------------------------------------------------------------
/// `T` is the type of a value: a base-field or an extension-field element of each lane.
template <typename T, uint V> struct RulePoints {
    T p[V];
};
template <typename T, uint V> inline RulePoints<T, V> operator+(RulePoints<T, V> a, RulePoints<T, V> b) {
    MSL_UNROLL for (uint j = 0; j < V; j++) a.p[j] = a.p[j] + b.p[j];
    return a;
}
template <typename T, uint V> inline RulePoints<T, V> operator-(RulePoints<T, V> a, RulePoints<T, V> b) {
    MSL_UNROLL for (uint j = 0; j < V; j++) a.p[j] = a.p[j] - b.p[j];
    return a;
}
template <typename T, uint V> inline RulePoints<T, V> operator*(RulePoints<T, V> a, RulePoints<T, V> b) {
    MSL_UNROLL for (uint j = 0; j < V; j++) a.p[j] = a.p[j] * b.p[j];
    return a;
}
template <typename T, uint V> inline RulePoints<T, V> operator+(RulePoints<T, V> a, FpL b) {
    MSL_UNROLL for (uint j = 0; j < V; j++) a.p[j] = a.p[j] + b;
    return a;
}
template <typename T, uint V> inline RulePoints<T, V> operator-(RulePoints<T, V> a, FpL b) {
    MSL_UNROLL for (uint j = 0; j < V; j++) a.p[j] = a.p[j] - b;
    return a;
}
template <typename T, uint V> inline RulePoints<T, V> operator-(FpL a, RulePoints<T, V> b) {
    MSL_UNROLL for (uint j = 0; j < V; j++) b.p[j] = a - b.p[j];
    return b;
}
template <typename T, uint V> inline RulePoints<T, V> operator*(RulePoints<T, V> a, FpL b) {
    MSL_UNROLL for (uint j = 0; j < V; j++) a.p[j] = a.p[j] * b;
    return a;
}

#if LANE_WIDTH > 1
/// Begins to read the next points of a column: the thread takes them next, with the same section, and each column is pages from the others.
template <uint V> inline void rule_fetch(device const Fp* cells, index_l first) {
    MSL_UNROLL for (uint j = 0; j < V; j++) __builtin_prefetch(cells + first.base + (V + j) * LANE_WIDTH);
}
/// The same for the four planes of a column.
template <uint V> inline void rule_fetch_planes(device const Fp* planes, ulong stride, index_l first) {
    MSL_UNROLL for (uint k = 0; k < 4u; k++) rule_fetch<V>(planes + k * stride, first);
}
#endif

// ---- base-field variables: round 0 ----------------------------------------------------------------
/// Sums of products below p 2^32, one for each coefficient of an extension element at each point: a product of reduced
/// words is smaller than that, so nothing is reduced before the end.
template <uint V> struct RuleBaseSum {
    typename FpAccOf<uint_l>::T part[4u * V];
};
/// x - p 2^32 where that is not negative; x < 2 p 2^32.
inline ulong rule_keep(ulong x) {
    uint high = uint(x >> 32);
    high = min(high, high - FP_P);
    return (ulong(high) << 32) | ulong(uint(x));
}
#if LANE_WIDTH > 1
inline FpAccL rule_keep(FpAccL x) {
    // The low words stay as they are, so words can be compared: AVX2 has no minimum of 64 bits.
    const msl_wide limit = msl_wide{} + ((ulong)FP_P << 32);
    uint_l e = uint_l::of((uint_l::raw)x.e), o = uint_l::of((uint_l::raw)x.o);
    x.e = (msl_wide)min(e, uint_l::of((uint_l::raw)(x.e - limit))).v;
    x.o = (msl_wide)min(o, uint_l::of((uint_l::raw)(x.o - limit))).v;
    return x;
}
#endif

/// Rules over base-field variables.
template <uint V> struct RuleBase {
    typedef RulePoints<FpL, V> Value;
    typedef RuleBaseSum<V> Sum;
    device const Fp* arena;
    ulong column_stride;
    device const FpExt* coefficients;
    device const Fp* uniforms;
    index_l first;
};
template <uint V> inline RuleBase<V> rule_base(constant RuleParams& p, RuleShare s, device const Fp* arena,
                                               device const FpExt* coefficients, device const Fp* uniforms) {
    RuleBase<V> c;
    c.arena = arena + p.arena + ulong(s.job) * p.arena_stride;
    c.column_stride = p.column_stride;
    c.coefficients = coefficients + p.coefficients;
    c.uniforms = uniforms + p.uniforms;
    c.first = rule_first(s.place, V);
    return c;
}
template <uint V> inline RulePoints<FpL, V> rule_load(RuleBase<V> c, uint column) {
    RulePoints<FpL, V> r;
    device const Fp* cells = c.arena + ulong(column) * c.column_stride;
    constraint_load<V>(cells, c.first, RULE_APART, r.p);
#if LANE_WIDTH > 1
    rule_fetch<V>(cells, c.first);
#endif
    return r;
}
template <uint V> inline FpL rule_uniform(RuleBase<V> c, uint index) { return fp_lanes(c.uniforms[index]); }
template <uint V> inline RulePoints<FpL, V> rule_value(RuleBase<V> c, FpL u) {
    RulePoints<FpL, V> r;
    MSL_UNROLL for (uint j = 0; j < V; j++) r.p[j] = u;
    return r;
}
template <uint V> inline RuleBaseSum<V> rule_sum(RuleBase<V> c) {
    uint_l zero = (uint_l)0u;
    RuleBaseSum<V> s;
    MSL_UNROLL for (uint k = 0; k < 4u * V; k++) s.part[k] = fp_acc_mul(zero, zero);
    return s;
}
/// sum += coefficient * value: 4 wide products (2 products) a point.
template <uint V> inline RuleBaseSum<V> rule_add(RuleBase<V> c, uint coefficient, RulePoints<FpL, V> v, RuleBaseSum<V> s) {
    FpExt w = c.coefficients[coefficient];
    MSL_UNROLL for (uint k = 0; k < 4u; k++) {
        FpL wk = fp_lanes(w.c[k]);
        MSL_UNROLL for (uint j = 0; j < V; j++) s.part[4u * j + k] = rule_keep(fp_acc_mad(s.part[4u * j + k], v.p[j].v, wk.v));
    }
    return s;
}
/// Stores a sum, in planes.
template <uint V> inline void rule_store(RuleBase<V> c, device Fp* out, ulong plane_stride, RuleBaseSum<V> s) {
    FpExtL v[V];
    MSL_UNROLL for (uint j = 0; j < V; j++) {
        MSL_UNROLL for (uint k = 0; k < 4u; k++) v[j].c[k] = FpL{fp_acc_reduce(s.part[4u * j + k])};
    }
    constraint_store_points<V>(out, plane_stride, c.first, RULE_APART, v);
}

// ---- extension-field variables: the rounds over the hypercube ---------------------------------------
/// A sum at each point of a thread.
template <uint V> struct RuleExtSum {
    FpExtL part[V];
};
/// Rules over variables in planes, on the lines through two rows of the folded traces that are `half_rows` apart. Job k is at X = k + 1.
template <uint V> struct RuleExt {
    typedef RulePoints<FpExtL, V> Value;
    typedef RuleExtSum<V> Sum;
    device const Fp* arena;
    ulong column_stride;   // of a plane
    device const FpExt* coefficients;
    device const Fp* uniforms;
    index_l first;
    ulong half_rows;
    uint beyond;           // X - 1: steps beyond the second row
};
template <uint V> inline RuleExt<V> rule_ext(constant RuleParams& p, RuleShare s, device const Fp* arena,
                                             device const FpExt* coefficients, device const Fp* uniforms) {
    RuleExt<V> c;
    c.arena = arena + p.arena;
    c.column_stride = p.column_stride;
    c.coefficients = coefficients + p.coefficients;
    c.uniforms = uniforms + p.uniforms;
    c.first = rule_first(s.place, V);
    c.half_rows = p.plane_stride;  // there is a result for each pair of rows
    c.beyond = s.job;
    return c;
}
/// 4 words of a row, or 8 of two rows. Short code, which stays in the instruction cache.
template <uint V> inline RulePoints<FpExtL, V> rule_load(RuleExt<V> c, uint column) {
    device const Fp* planes = c.arena + 4u * ulong(column) * c.column_stride;
    RulePoints<FpExtL, V> r;
    constraint_load_points<V>(planes, c.column_stride, c.first + c.half_rows, RULE_APART, r.p);
#if LANE_WIDTH > 1
    rule_fetch_planes<V>(planes, c.column_stride, c.first + c.half_rows);
#endif
    if (c.beyond == 0u) return r;
    FpExtL low[V];
    constraint_load_points<V>(planes, c.column_stride, c.first, RULE_APART, low);
#if LANE_WIDTH > 1
    rule_fetch_planes<V>(planes, c.column_stride, c.first);
#endif
    MSL_UNROLL for (uint j = 0; j < V; j++) {
        FpExtL slope = r.p[j] - low[j];
        MSL_ROLLED for (uint k = 0; k < c.beyond; k++) r.p[j] = r.p[j] + slope;
    }
    return r;
}
template <uint V> inline FpL rule_uniform(RuleExt<V> c, uint index) { return fp_lanes(c.uniforms[index]); }
template <uint V> inline RulePoints<FpExtL, V> rule_value(RuleExt<V> c, FpL u) {
    RulePoints<FpExtL, V> r;
    MSL_UNROLL for (uint j = 0; j < V; j++) r.p[j] = fpext_from_base(u);
    return r;
}
template <uint V> inline RuleExtSum<V> rule_sum(RuleExt<V> c) {
    RuleExtSum<V> s;
    MSL_UNROLL for (uint j = 0; j < V; j++) s.part[j] = fpext_zero<uint_l>();
    return s;
}
/// sum += coefficient * value: an ext product a point.
template <uint V> inline RuleExtSum<V> rule_add(RuleExt<V> c, uint coefficient, RulePoints<FpExtL, V> v, RuleExtSum<V> s) {
    FpExt w = c.coefficients[coefficient];
    MSL_UNROLL for (uint j = 0; j < V; j++) s.part[j] = s.part[j] + v.p[j] * w;
    return s;
}
/// Stores a sum, in planes.
template <uint V> inline void rule_store(RuleExt<V> c, device Fp* out, ulong plane_stride, RuleExtSum<V> s) {
    constraint_store_points<V>(out, plane_stride, c.first, RULE_APART, s.part);
}
