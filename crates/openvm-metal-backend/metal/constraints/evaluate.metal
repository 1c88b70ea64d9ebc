// Evaluation of rule programs at many points: round 0 (base field), the MLE rounds (extension field) and
// the input layer of GKR.
#include "evaluate.h"

/// One point per thread: runs the job's range of a program over base-field variables in the arena, writes
/// the accumulators (16 bytes each). Costs the program: per instruction at most 3 loads, one product;
/// accumulating costs 4 products.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_eval_base(
    device const ConstraintEvalJob* jobs [[buffer(0)]],
    device const uint* groups [[buffer(1)]],
    device const ConstraintInstruction* code [[buffer(2)]],
    device const FpExt* coefficients [[buffer(3)]],
    device const Fp* uniforms [[buffer(4)]],
    device const Fp* arena [[buffer(5)]],
    device Fp* spills [[buffer(6)]],
    device Fp* partials [[buffer(7)]],
    constant ConstraintEvalParams& params [[buffer(8)]],
    threadgroup Fp* registers [[threadgroup(0)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    LANE_MULTIPLE(jobs[groups[group]].points);
    ConstraintEvalJob job = jobs[groups[group]];
    ConstraintShare share = constraint_share(job.first_group, job.points, group, params.block);
    ConstraintBase c;
    c.arena = arena + job.arena + share.first;
    c.row_stride = job.row_stride;
    c.uniforms = uniforms + job.uniforms;
    c.coefficients = coefficients + job.coefficients;
    c.spills = spills + ulong(group) * params.spill_slots * params.block;
    c.registers = registers;
    c.block = params.block;
    device Fp* out = partials + job.partials + share.first;
    uint i0 = 0;
    for (; i0 + CONSTRAINT_BASE_POINTS * tpg <= share.count; i0 += CONSTRAINT_BASE_POINTS * tpg) {
        constraint_points<CONSTRAINT_BASE_POINTS>(c, code, job, index_l(tid) + ulong(i0), tpg, out);
    }
    for (; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) constraint_points<1u>(c, code, job, i, tpg, out);
    }
}

/// The same over extension-field variables, each on the line through two rows of the folded traces.
/// A product costs about 9.5 field products.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_eval_ext(
    device const ConstraintEvalJob* jobs [[buffer(0)]],
    device const uint* groups [[buffer(1)]],
    device const ConstraintInstruction* code [[buffer(2)]],
    device const FpExt* coefficients [[buffer(3)]],
    device const Fp* uniforms [[buffer(4)]],
    device const Fp* arena [[buffer(5)]],
    device Fp* spills [[buffer(6)]],
    device Fp* partials [[buffer(7)]],
    constant ConstraintEvalParams& params [[buffer(8)]],
    threadgroup Fp* registers [[threadgroup(0)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    LANE_MULTIPLE(jobs[groups[group]].points);
    ConstraintEvalJob job = jobs[groups[group]];
    ConstraintShare share = constraint_share(job.first_group, job.points, group, params.block);
    ConstraintExt c;
    c.arena = arena + job.arena + share.first;
    c.row_stride = job.row_stride;
    c.uniforms = uniforms + job.uniforms;
    c.coefficients = coefficients + job.coefficients;
    c.spills = spills + 4u * ulong(group) * params.spill_slots * params.block;
    c.registers = registers;
    c.block = params.block;
    c.step = job.step;
    c.half_rows = job.half_rows;
    device Fp* out = partials + job.partials + share.first;
    uint i0 = 0;
    for (; i0 + CONSTRAINT_EXT_POINTS * tpg <= share.count; i0 += CONSTRAINT_EXT_POINTS * tpg) {
        constraint_points<CONSTRAINT_EXT_POINTS>(c, code, job, index_l(tid) + ulong(i0), tpg, out);
    }
    for (; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) constraint_points<1u>(c, code, job, i, tpg, out);
    }
}

/// One row of a (lifted) trace per thread: writes numerator (4 bytes, times the norm factor) and
/// denominator (16 bytes, with alpha) of each interaction in the job's range to its place in the leaves.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_eval_leaves(
    device const ConstraintEvalJob* jobs [[buffer(0)]],
    device const uint* groups [[buffer(1)]],
    device const ConstraintInstruction* code [[buffer(2)]],
    device const FpExt* coefficients [[buffer(3)]],
    device const Fp* uniforms [[buffer(4)]],
    device const Fp* arena [[buffer(5)]],
    device Fp* spills [[buffer(6)]],
    device const ConstraintLeaf* leaves [[buffer(7)]],
    device Fp* numerators [[buffer(9)]],
    device FpExt* denominators [[buffer(10)]],
    constant ConstraintEvalParams& params [[buffer(8)]],
    threadgroup Fp* registers [[threadgroup(0)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    LANE_MULTIPLE(jobs[groups[group]].points);
    ConstraintEvalJob job = jobs[groups[group]];
    ConstraintShare share = constraint_share(job.first_group, job.points, group, params.block);
    ConstraintBase base;
    base.arena = arena + job.arena + share.first;
    base.row_stride = job.row_stride;
    base.uniforms = uniforms + job.uniforms;
    base.coefficients = coefficients + job.coefficients;
    base.spills = spills + ulong(group) * params.spill_slots * params.block;
    base.registers = registers;
    base.block = params.block;
    ConstraintLeaves c;
    c.base = base;
    c.leaves = leaves + job.leaves;
    c.first_row = job.partials + share.first;
    c.norm = Fp{job.norm};
    c.numerators = numerators;
    c.denominators = denominators;
    uint i0 = 0;
    for (; i0 + CONSTRAINT_BASE_POINTS * tpg <= share.count; i0 += CONSTRAINT_BASE_POINTS * tpg) {
        constraint_points<CONSTRAINT_BASE_POINTS>(c, code, job, index_l(tid) + ulong(i0), tpg, numerators);
    }
    for (; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) constraint_points<1u>(c, code, job, i, tpg, numerators);
    }
}
