#pragma once
// The interpreter of rule programs (src/constraints/rules/program.rs): straight-line code, the same
// for all threads, over one register file per point in threadgroup memory, [register][point].
#include "fold.h"

constant constexpr uint CONSTRAINT_INDEX_MASK = (1u << 28) - 1u;

// Points that one thread takes at a time, so that decoding costs less and loads overlap. The launcher
// gives a threadgroup this many points per thread on GPUs (src/constraints/evaluator.rs).
#define CONSTRAINT_BASE_POINTS 4u
#define CONSTRAINT_EXT_POINTS 2u

/// What a program over base-field values reads and writes.
struct ConstraintBase {
    typedef FpL Value;
    device const Fp* arena;
    ulong row_stride;
    device const Fp* uniforms;
    device const FpExt* coefficients;
    device Fp* spills;
    threadgroup Fp* registers;
    uint block;
};
inline FpL constraint_from_uniform(ConstraintBase c, FpL u) { return u; }
inline FpL constraint_variable(ConstraintBase c, uint index, index_l i) { return FpL(lane_load(c.arena + ulong(index) * c.row_stride, i)); }
inline FpL constraint_register(ConstraintBase c, uint index, index_l i) { return FpL(lane_load(c.registers + index * c.block, i)); }
inline FpL constraint_spilled(ConstraintBase c, uint index, index_l i) { return FpL(lane_load(c.spills + ulong(index) * c.block, i)); }
inline void constraint_to_register(ConstraintBase c, uint index, index_l i, FpL v) { lane_store(c.registers + index * c.block, i, v); }
inline void constraint_to_spill(ConstraintBase c, uint index, index_l i, FpL v) { lane_store(c.spills + ulong(index) * c.block, i, v); }
inline void constraint_emit(ConstraintBase c, uint index, index_l i, FpL v, FpExtL message) {}

/// The same for values in the extension field, in planes, at X = step on the line through rows i and
/// i + half_rows (step 0: row i).
struct ConstraintExt {
    typedef FpExtL Value;
    device const Fp* arena;
    ulong row_stride;  // of a plane
    device const Fp* uniforms;
    device const FpExt* coefficients;
    device Fp* spills;
    threadgroup Fp* registers;
    uint block;
    uint step;
    ulong half_rows;
};
inline FpExtL constraint_from_uniform(ConstraintExt c, FpL u) { return fpext_from_base(u); }
inline FpExtL constraint_variable(ConstraintExt c, uint index, index_l i) {
    device const Fp* row = c.arena + 4u * ulong(index) * c.row_stride;
    if (c.step == 0u) return constraint_load_planes(row, c.row_stride, i);
    FpExtL one = constraint_load_planes(row, c.row_stride, i + c.half_rows);
    if (c.step == 1u) return one;
    FpExtL slope = one - constraint_load_planes(row, c.row_stride, i);
    for (uint k = 1; k < c.step; k++) one = one + slope;
    return one;
}
inline FpExtL constraint_register(ConstraintExt c, uint index, index_l i) {
    threadgroup Fp* p = c.registers + 4u * index * c.block;
    return fpext_make(FpL(lane_load(p, i)), FpL(lane_load(p + c.block, i)), FpL(lane_load(p + 2u * c.block, i)),
                      FpL(lane_load(p + 3u * c.block, i)));
}
inline FpExtL constraint_spilled(ConstraintExt c, uint index, index_l i) {
    return constraint_load_planes(c.spills + 4u * ulong(index) * c.block, c.block, i);
}
inline void constraint_to_register(ConstraintExt c, uint index, index_l i, FpExtL v) {
    threadgroup Fp* p = c.registers + 4u * index * c.block;
    lane_store(p, i, v.c[0]);
    lane_store(p + c.block, i, v.c[1]);
    lane_store(p + 2u * c.block, i, v.c[2]);
    lane_store(p + 3u * c.block, i, v.c[3]);
}
inline void constraint_to_spill(ConstraintExt c, uint index, index_l i, FpExtL v) {
    constraint_store_planes(c.spills + 4u * ulong(index) * c.block, c.block, i, v);
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
inline FpL constraint_variable(ConstraintLeaves c, uint index, index_l i) { return constraint_variable(c.base, index, i); }
inline FpL constraint_register(ConstraintLeaves c, uint index, index_l i) { return constraint_register(c.base, index, i); }
inline FpL constraint_spilled(ConstraintLeaves c, uint index, index_l i) { return constraint_spilled(c.base, index, i); }
inline void constraint_to_register(ConstraintLeaves c, uint index, index_l i, FpL v) { constraint_to_register(c.base, index, i, v); }
inline void constraint_to_spill(ConstraintLeaves c, uint index, index_l i, FpL v) { constraint_to_spill(c.base, index, i, v); }
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
inline void constraint_operand(C c, uint word, index_l first, uint tpg, thread typename C::Value* out) {
    uint index = word & CONSTRAINT_INDEX_MASK;
    uint kind = word >> 28;
    if (kind == 0u) {
        MSL_UNROLL for (uint j = 0; j < V; j++) out[j] = constraint_register(c, index, first + ulong(j * tpg));
    } else if (kind == 1u) {
        MSL_UNROLL for (uint j = 0; j < V; j++) out[j] = constraint_variable(c, index, first + ulong(j * tpg));
    } else if (kind == 2u) {
        typename C::Value u = constraint_from_uniform(c, fp_lanes(constraint_memory(c).uniforms[index]));
        MSL_UNROLL for (uint j = 0; j < V; j++) out[j] = u;
    } else {
        MSL_UNROLL for (uint j = 0; j < V; j++) out[j] = constraint_spilled(c, index, first + ulong(j * tpg));
    }
}

/// Runs instructions begin..end at V points of each thread (first, first + tpg, ..); adds to the
/// accumulators.
template <uint V, typename C>
inline void constraint_run(C c, device const ConstraintInstruction* code, uint begin, uint end, index_l first, uint tpg,
                           thread FpExtL* acc0, thread FpExtL* acc1) {
    typedef typename C::Value Value;
    ConstraintInstruction following = code[begin];
    for (uint pc = begin; pc < end; pc++) {
        ConstraintInstruction ins = following;
        if (pc + 1u < end) following = code[pc + 1u];  // one ahead: its latency is hidden
        uint op = ins.head & 15u;
        Value r[V];
        constraint_operand<V>(c, ins.a, first, tpg, r);
        if (op >= 7u) {
            FpL u = fp_lanes(constraint_memory(c).uniforms[ins.b & CONSTRAINT_INDEX_MASK]);
            MSL_UNROLL for (uint j = 0; j < V; j++) r[j] = r[j] * u;
        } else if (op != 0u) {
            Value b[V];
            constraint_operand<V>(c, ins.b, first, tpg, b);
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
            constraint_operand<V>(c, ins.c, first, tpg, d);
            uint form = op & 3u;  // 0: + c, 1: - c, 2: c -
            if (form == 0u) {
                MSL_UNROLL for (uint j = 0; j < V; j++) r[j] = r[j] + d[j];
            } else if (form == 1u) {
                MSL_UNROLL for (uint j = 0; j < V; j++) r[j] = r[j] - d[j];
            } else {
                MSL_UNROLL for (uint j = 0; j < V; j++) r[j] = d[j] - r[j];
            }
        }
        uint sink = (ins.head >> 4) & 15u, index = ins.head >> 8;
        if (sink == 0u) {
            MSL_UNROLL for (uint j = 0; j < V; j++) constraint_to_register(c, index, first + ulong(j * tpg), r[j]);
        } else if (sink == 2u) {
            FpExt w = constraint_memory(c).coefficients[index];
            MSL_UNROLL for (uint j = 0; j < V; j++) acc0[j] = acc0[j] + r[j] * w;
        } else if (sink == 3u) {
            FpExt w = constraint_memory(c).coefficients[index];
            MSL_UNROLL for (uint j = 0; j < V; j++) acc1[j] = acc1[j] + r[j] * w;
        } else if (sink == 1u) {
            MSL_UNROLL for (uint j = 0; j < V; j++) constraint_to_spill(c, index, first + ulong(j * tpg), r[j]);
        } else {
            MSL_UNROLL for (uint j = 0; j < V; j++) {
                constraint_emit(c, index, first + ulong(j * tpg), r[j], acc0[j]);
                acc0[j] = fpext_zero<uint_l>();
            }
        }
    }
}

/// Evaluates V points of each thread and stores the accumulators, in planes.
template <uint V, typename C>
MSL_LARGE inline void constraint_points(C c, device const ConstraintInstruction* code, ConstraintEvalJob job, index_l first, uint tpg,
                              device Fp* out) {
    FpExtL acc0[V], acc1[V];
    MSL_UNROLL for (uint j = 0; j < V; j++) {
        acc0[j] = fpext_zero<uint_l>();
        acc1[j] = fpext_zero<uint_l>();
    }
    constraint_run<V>(c, code, job.code_begin, job.code_end, first, tpg, acc0, acc1);
    if (job.accumulators >= 1u) {
        MSL_UNROLL for (uint j = 0; j < V; j++) constraint_store_planes(out, job.plane_stride, first + ulong(j * tpg), acc0[j]);
    }
    if (job.accumulators >= 2u) {
        MSL_UNROLL for (uint j = 0; j < V; j++) {
            constraint_store_planes(out + 4u * ulong(job.plane_stride), job.plane_stride, first + ulong(j * tpg), acc1[j]);
        }
    }
}
