// Evaluation of constraint programs at many points: round 0 (base field), the MLE rounds (extension field) and
// the input layer of GKR.
#include "evaluate.h"

/// One point per thread: runs the job's range of a program over base-field variables in the arena, writes
/// the accumulators (16 bytes each). Per instruction at most 3 loads and one product, accumulating 4 products; with
/// what decoding takes, an instruction is worth 4 products.
/// Given: steps.
/// Cost: 4 * steps products, 4 * steps bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); programs, their uniforms,
/// coefficients, registers, spills and variables lie in their buffers, and so do the results. `steps` counts instructions times points.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_eval_base(
    device const ConstraintEvalJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
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
    ConstraintEvalJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(job.points);
    constraint_base_group<2u>(job, code, coefficients, uniforms, arena, spills, partials, params, registers, tid, tpg, group);
}

/// The same where every job has one accumulator: it needs fewer registers, so more threads run on Apple GPUs.
/// Given: steps.
/// Cost: 4 * steps products, 4 * steps bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); programs, their uniforms,
/// coefficients, registers, spills and variables lie in their buffers, and so do the results. `steps` counts instructions times points.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_eval_base_single(
    device const ConstraintEvalJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
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
    ConstraintEvalJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(job.points);
    constraint_base_group<1u>(job, code, coefficients, uniforms, arena, spills, partials, params, registers, tid, tpg, group);
}

/// As `constraint_eval_base` over extension-field variables, each on the line through two rows of the folded traces.
/// Given: steps.
/// Cost: steps ext products, 32 * steps bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); programs, their uniforms,
/// coefficients, registers, spills and variables lie in their buffers, and so do the results. `steps` counts instructions times points.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_eval_ext(
    device const ConstraintEvalJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
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
    ConstraintEvalJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(job.points);
    constraint_ext_group<2u>(job, code, coefficients, uniforms, arena, spills, partials, params, registers, tid, tpg, group);
}

/// As `constraint_eval_base_single` over extension-field variables.
/// Given: steps.
/// Cost: steps ext products, 32 * steps bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); programs, their uniforms,
/// coefficients, registers, spills and variables lie in their buffers, and so do the results. `steps` counts instructions times points.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_eval_ext_single(
    device const ConstraintEvalJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
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
    ConstraintEvalJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(job.points);
    constraint_ext_group<1u>(job, code, coefficients, uniforms, arena, spills, partials, params, registers, tid, tpg, group);
}

/// One row of a (lifted) trace per thread: writes numerator (4 bytes, times the norm factor) and
/// denominator (16 bytes, with alpha) of each interaction in the job's range to its place in the leaves.
/// Given: steps.
/// Cost: 4 * steps products, 8 * steps bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); programs, their uniforms,
/// coefficients, registers, spills and variables lie in their buffers, and so do the results. `steps` counts instructions times points.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_eval_leaves(
    device const ConstraintEvalJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
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
    ConstraintEvalJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(job.points);
    JobShare share = job_share(job.first_group, job.points, group, params.block);
    ConstraintBase base;
    base.arena = arena + job.arena + share.first;
    base.column_stride = job.column_stride;
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
    uint aligned = uint(job.arena) | job.column_stride | share.first;
    constraint_share_points<CONSTRAINT_BASE_POINTS, 1u>(c, code, job, share, tid, tpg, numerators, aligned);
}
