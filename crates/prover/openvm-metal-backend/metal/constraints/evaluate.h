#pragma once
// The interpreter of constraint programs (src/programs/program.rs): straight-line code, the same
// for all threads, over one register file per point in threadgroup memory, [register][point].
#include "fold.h"
#include "points.h"

constant constexpr uint CONSTRAINT_INDEX_MASK = (1u << 28) - 1u;

// Points that one thread takes at a time, so that decoding costs less and loads overlap. The launcher
// gives a threadgroup this many points per thread on GPUs (src/constraints/interpreter.rs).
#define CONSTRAINT_BASE_POINTS 4u
#define CONSTRAINT_EXT_POINTS 2u

/// What a program over base-field values reads and writes.
struct ConstraintBase {
    typedef FpL Value;
    device const Fp* arena;
    ulong column_stride;
    device const Fp* uniforms;
    device const FpExt* coefficients;
    device Fp* spills;
    threadgroup Fp* registers;
    uint block;
};
inline FpL constraint_from_uniform(ConstraintBase c, FpL u) { return u; }
template <uint V> inline void constraint_variable(ConstraintBase c, uint index, index_l i, uint apart, thread FpL* v) {
    constraint_load<V>(c.arena + ulong(index) * c.column_stride, i, apart, v);
}
template <uint V> inline void constraint_register(ConstraintBase c, uint index, index_l i, uint apart, thread FpL* v) {
    constraint_load_register<V>(c.registers + index * c.block, i, apart, v);
}
template <uint V> inline void constraint_spilled(ConstraintBase c, uint index, index_l i, uint apart, thread FpL* v) {
    constraint_load<V>(c.spills + ulong(index) * c.block, i, apart, v);
}
template <uint V> inline void constraint_to_register(ConstraintBase c, uint index, index_l i, uint apart, thread const FpL* v) {
    constraint_store_register<V>(c.registers + index * c.block, i, apart, v);
}
template <uint V> inline void constraint_to_spill(ConstraintBase c, uint index, index_l i, uint apart, thread const FpL* v) {
    constraint_store<V>(c.spills + ulong(index) * c.block, i, apart, v);
}
inline void constraint_emit(ConstraintBase c, uint index, index_l i, FpL v, FpExtL message) {}

/// The same for values in the extension field, in planes, at X = step on the line through rows i and
/// i + half_rows (step 0: row i).
struct ConstraintExt {
    typedef FpExtL Value;
    device const Fp* arena;
    ulong column_stride;  // of a plane
    device const Fp* uniforms;
    device const FpExt* coefficients;
    device Fp* spills;
    threadgroup Fp* registers;
    uint block;
    uint step;
    ulong half_rows;
};
inline FpExtL constraint_from_uniform(ConstraintExt c, FpL u) { return fpext_from_base(u); }
template <uint V> inline void constraint_variable(ConstraintExt c, uint index, index_l i, uint apart, thread FpExtL* v) {
    device const Fp* column = c.arena + 4u * ulong(index) * c.column_stride;
    constraint_load_points<V>(column, c.column_stride, c.step == 0u ? i : i + c.half_rows, apart, v);
    if (c.step <= 1u) return;
    FpExtL zero[V];
    constraint_load_points<V>(column, c.column_stride, i, apart, zero);
    MSL_UNROLL for (uint j = 0; j < V; j++) {
        FpExtL slope = v[j] - zero[j];
        for (uint k = 1; k < c.step; k++) v[j] = v[j] + slope;
    }
}
template <uint V> inline void constraint_register(ConstraintExt c, uint index, index_l i, uint apart, thread FpExtL* v) {
    threadgroup const Fp* p = c.registers + 4u * index * c.block;
    MSL_UNROLL for (uint k = 0; k < 4u; k++) {
        FpL w[V];
        constraint_load_register<V>(p + k * c.block, i, apart, w);
        MSL_UNROLL for (uint j = 0; j < V; j++) v[j].c[k] = w[j];
    }
}
template <uint V> inline void constraint_spilled(ConstraintExt c, uint index, index_l i, uint apart, thread FpExtL* v) {
    constraint_load_points<V>(c.spills + 4u * ulong(index) * c.block, c.block, i, apart, v);
}
template <uint V> inline void constraint_to_register(ConstraintExt c, uint index, index_l i, uint apart, thread const FpExtL* v) {
    threadgroup Fp* p = c.registers + 4u * index * c.block;
    MSL_UNROLL for (uint k = 0; k < 4u; k++) {
        FpL w[V];
        MSL_UNROLL for (uint j = 0; j < V; j++) w[j] = v[j].c[k];
        constraint_store_register<V>(p + k * c.block, i, apart, w);
    }
}
template <uint V> inline void constraint_to_spill(ConstraintExt c, uint index, index_l i, uint apart, thread const FpExtL* v) {
    constraint_store_points<V>(c.spills + 4u * ulong(index) * c.block, c.block, i, apart, v);
}
inline void constraint_emit(ConstraintExt c, uint index, index_l i, FpExtL v, FpExtL message) {}

/// As ConstraintBase, and where the fractions of the GKR input layer go.
struct ConstraintLeaves {
    typedef FpL Value;
    ConstraintBase base;
    device const ConstraintLeaf* leaves;
    ulong first_row;
    Fp norm;
    device Fp* numerators;
    device FpExt* denominators;
};
inline FpL constraint_from_uniform(ConstraintLeaves c, FpL u) { return u; }
template <uint V> inline void constraint_variable(ConstraintLeaves c, uint index, index_l i, uint apart, thread FpL* v) {
    constraint_variable<V>(c.base, index, i, apart, v);
}
template <uint V> inline void constraint_register(ConstraintLeaves c, uint index, index_l i, uint apart, thread FpL* v) {
    constraint_register<V>(c.base, index, i, apart, v);
}
template <uint V> inline void constraint_spilled(ConstraintLeaves c, uint index, index_l i, uint apart, thread FpL* v) {
    constraint_spilled<V>(c.base, index, i, apart, v);
}
template <uint V> inline void constraint_to_register(ConstraintLeaves c, uint index, index_l i, uint apart, thread const FpL* v) {
    constraint_to_register<V>(c.base, index, i, apart, v);
}
template <uint V> inline void constraint_to_spill(ConstraintLeaves c, uint index, index_l i, uint apart, thread const FpL* v) {
    constraint_to_spill<V>(c.base, index, i, apart, v);
}
inline void constraint_emit(ConstraintLeaves c, uint index, index_l i, FpL v, FpExtL message) {
    ConstraintLeaf leaf = c.leaves[index];
    index_l at = i + (leaf.first + c.first_row);
    lane_store(c.numerators, at, v * c.norm);
    lane_store(c.denominators, at, message + leaf.constant_term);
}
inline ConstraintBase constraint_memory(ConstraintBase c) { return c; }
inline ConstraintExt constraint_memory(ConstraintExt c) { return c; }
inline ConstraintBase constraint_memory(ConstraintLeaves c) { return c.base; }

template <uint V, typename C>
inline void constraint_operand(C c, uint word, index_l first, uint apart, thread typename C::Value* out) {
    uint index = word & CONSTRAINT_INDEX_MASK;
    uint kind = word >> 28;
    if (kind == 0u) {
        constraint_register<V>(c, index, first, apart, out);
    } else if (kind == 1u) {
        constraint_variable<V>(c, index, first, apart, out);
    } else if (kind == 2u) {
        typename C::Value u = constraint_from_uniform(c, fp_lanes(constraint_memory(c).uniforms[index]));
        MSL_UNROLL for (uint j = 0; j < V; j++) out[j] = u;
    } else {
        constraint_spilled<V>(c, index, first, apart, out);
    }
}

// Whether a coefficient is loaded before the operands, whose latency hides its own. It costs four registers, which take an eighth
// of their threads from Apple GPUs.
#if MSL_PTX
constant constexpr bool CONSTRAINT_EARLY = true;
#else
constant constexpr bool CONSTRAINT_EARLY = false;
#endif

/// Runs instructions begin..end at V points of each thread; adds to the A accumulators of each.
template <uint V, uint A, typename C>
inline void constraint_run(C c, device const ConstraintInstruction* code, uint begin, uint end, index_l first, uint apart,
                           thread FpExtL* acc) {
    typedef typename C::Value Value;
    ConstraintInstruction following = code[begin];
    for (uint pc = begin; pc < end; pc++) {
        ConstraintInstruction ins = following;
        if (pc + 1u < end) following = code[pc + 1u];  // one ahead: its latency is hidden
        uint op = ins.head & 15u, sink = (ins.head >> 4) & 15u, index = ins.head >> 8;
        bool adds = sink == 2u || (A > 1u && sink == 3u);
        FpExt w = fpext_zero<uint>();
        if (adds && CONSTRAINT_EARLY) w = constraint_memory(c).coefficients[index];
        Value r[V];
        constraint_operand<V>(c, ins.a, first, apart, r);
        if (op >= 7u) {
            FpL u = fp_lanes(constraint_memory(c).uniforms[ins.b & CONSTRAINT_INDEX_MASK]);
            MSL_UNROLL for (uint j = 0; j < V; j++) r[j] = r[j] * u;
        } else if (op != 0u) {
            Value b[V];
            constraint_operand<V>(c, ins.b, first, apart, b);
            if (op >= 3u) {
                MSL_UNROLL for (uint j = 0; j < V; j++) r[j] = r[j] * b[j];
            } else if (op == 1u) {
                MSL_UNROLL for (uint j = 0; j < V; j++) r[j] = r[j] + b[j];
            } else {
                MSL_UNROLL for (uint j = 0; j < V; j++) r[j] = r[j] - b[j];
            }
        }
        if (op >= 4u && op != 7u) {
            Value d[V];
            constraint_operand<V>(c, ins.c, first, apart, d);
            uint form = op & 3u;  // 0: + c, 1: - c, 2: c -
            if (form == 0u) {
                MSL_UNROLL for (uint j = 0; j < V; j++) r[j] = r[j] + d[j];
            } else if (form == 1u) {
                MSL_UNROLL for (uint j = 0; j < V; j++) r[j] = r[j] - d[j];
            } else {
                MSL_UNROLL for (uint j = 0; j < V; j++) r[j] = d[j] - r[j];
            }
        }
        if (sink == 0u) {
            constraint_to_register<V>(c, index, first, apart, r);
        } else if (adds) {
            if (!CONSTRAINT_EARLY) w = constraint_memory(c).coefficients[index];
            if (A == 1u || sink == 2u) {
                MSL_UNROLL for (uint j = 0; j < V; j++) acc[j] = acc[j] + r[j] * w;
            } else {
                MSL_UNROLL for (uint j = 0; j < V; j++) acc[V + j] = acc[V + j] + r[j] * w;
            }
        } else if (sink == 1u) {
            constraint_to_spill<V>(c, index, first, apart, r);
        } else {
            MSL_UNROLL for (uint j = 0; j < V; j++) {
                constraint_emit(c, index, constraint_point(first, j, apart), r[j], acc[j]);
                acc[j] = fpext_zero<uint_l>();
            }
        }
    }
}

/// Evaluates V points of each thread and stores the accumulators, in planes.
template <uint V, uint A, typename C>
MSL_LARGE inline void constraint_points(C c, device const ConstraintInstruction* code, ConstraintEvalJob job, index_l first, uint apart,
                              device Fp* out) {
    FpExtL acc[A * V];
    MSL_UNROLL for (uint j = 0; j < A * V; j++) acc[j] = fpext_zero<uint_l>();
    constraint_run<V, A>(c, code, job.code_begin, job.code_end, first, apart, acc);
    if (job.accumulators >= 1u) constraint_store_points<V>(out, job.plane_stride, first, apart, acc);
    if (A > 1u && job.accumulators >= 2u) {
        constraint_store_points<V>(out + 4u * ulong(job.plane_stride), job.plane_stride, first, apart, acc + (A - 1u) * V);
    }
}

/// Evaluates the points of a threadgroup's share: V at a time while there are so many for each thread, then the rest.
/// `aligned`: what the addresses of the share are multiples of, in words.
template <uint V, uint A, typename C>
inline void constraint_share_points(C c, device const ConstraintInstruction* code, ConstraintEvalJob job, JobShare share,
                                    tid_l tid, uint tpg, device Fp* out, uint aligned) {
    uint i0 = 0;
#if LANE_WIDTH > 1
    index_l own = index_l(tid);
#else
    index_l own = index_l(tid) * V;
    if ((aligned & (V - 1u)) == 0u)
#endif
    for (; i0 + V * tpg <= share.count; i0 += V * tpg) constraint_points<V, A>(c, code, job, own + ulong(i0), tpg, out);
    for (; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) constraint_points<1u, A>(c, code, job, i, tpg, out);
    }
}

/// The share of a threadgroup over base-field variables; jobs have at most A accumulators.
template <uint A>
inline void constraint_base_group(ConstraintEvalJob job, device const ConstraintInstruction* code,
                                  device const FpExt* coefficients, device const Fp* uniforms, device const Fp* arena,
                                  device Fp* spills, device Fp* partials, constant ConstraintEvalParams& params,
                                  threadgroup Fp* registers, tid_l tid, uint tpg, uint group) {
    JobShare share = job_share(job.first_group, job.points, group, params.block);
    ConstraintBase c;
    c.arena = arena + job.arena + share.first;
    c.column_stride = job.column_stride;
    c.uniforms = uniforms + job.uniforms;
    c.coefficients = coefficients + job.coefficients;
    c.spills = spills + ulong(group) * params.spill_slots * params.block;
    c.registers = registers;
    c.block = params.block;
    device Fp* out = partials + job.partials + share.first;
    uint aligned = uint(job.arena) | job.column_stride | share.first | uint(job.partials) | job.plane_stride;
    constraint_share_points<CONSTRAINT_BASE_POINTS, A>(c, code, job, share, tid, tpg, out, aligned);
}

/// The same over extension-field variables.
template <uint A>
inline void constraint_ext_group(ConstraintEvalJob job, device const ConstraintInstruction* code,
                                 device const FpExt* coefficients, device const Fp* uniforms, device const Fp* arena,
                                 device Fp* spills, device Fp* partials, constant ConstraintEvalParams& params,
                                 threadgroup Fp* registers, tid_l tid, uint tpg, uint group) {
    JobShare share = job_share(job.first_group, job.points, group, params.block);
    ConstraintExt c;
    c.arena = arena + job.arena + share.first;
    c.column_stride = job.column_stride;
    c.uniforms = uniforms + job.uniforms;
    c.coefficients = coefficients + job.coefficients;
    c.spills = spills + 4u * ulong(group) * params.spill_slots * params.block;
    c.registers = registers;
    c.block = params.block;
    c.step = job.step;
    c.half_rows = job.half_rows;
    device Fp* out = partials + job.partials + share.first;
    uint aligned = uint(job.arena) | job.column_stride | share.first | uint(job.partials) | job.plane_stride | job.half_rows;
    constraint_share_points<CONSTRAINT_EXT_POINTS, A>(c, code, job, share, tid, tpg, out, aligned);
}
