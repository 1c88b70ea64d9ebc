// Weighted sums of evaluations, eq tables, the fold of the MLE rounds, final openings.
#include "fold.h"

/// One table per job: entry y is the product over k of eq(xi[(point + k) * stride], bit k of y), or bit
/// (vars - 1 - k) if reversed.
/// Given: entries, vars.
/// Cost: entries * vars ext products, 16 * entries bytes per launch.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); the jobs' coordinates lie in `xi`,
/// their tables in `tables`. `entries` counts the entries of all tables, of at most `vars` coordinates.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_eq_tables(
    device const ConstraintEqJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const FpExt* xi [[buffer(2)]],
    device FpExt* tables [[buffer(3)]],
    constant ConstraintEqParams& p [[buffer(4)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    ConstraintEqJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(1u << job.vars);
    JobShare share = job_share(job.first_group, 1u << job.vars, group, p.block);
    for (uint i0 = 0; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) {
            index_l y = i + ulong(share.first);
            uint_l bits = to_vec(y);
            FpExtL value = fpext_one<uint_l>();
            for (uint k = 0; k < job.vars; k++) {
                FpExt x = xi[(job.point + k) * p.stride];
                uint shift = job.reversed != 0u ? job.vars - 1u - k : k;
                value = value * fpext_select_bit(fpext_one<uint>() - x, x, (bits >> shift) & 1u);
            }
            lane_store(tables + job.out, y, value);
        }
    }
}

/// One interaction per thread: weights[i] = product over k < bits of eq(xi[first + k], bit k of its place), where bits is at most `bits`.
/// Given: bits.
/// Cost: bits ext products, 16 * bits + 28 bytes per thread.
/// Lengths: places, weights count.
/// Safety: the coordinates of all places lie in `xi`, of no place more than `bits`.
kernel void constraint_place_weights(
    device const ConstraintPlace* places [[buffer(0)]],
    device const FpExt* xi [[buffer(1)]],
    device FpExt* weights [[buffer(2)]],
    constant uint& count [[buffer(3)]],
    uint gid [[thread_position_in_grid]])
{
    if (gid >= count) return;
    ConstraintPlace at = places[gid];
    FpExt weight = fpext_one<uint>();
    for (uint k = 0; k < at.bits; k++) {
        FpExt x = xi[at.first + k];
        weight = weight * fpext_select_bit(fpext_one<uint>() - x, x, (at.place >> k) & 1u);
    }
    weights[gid] = weight;
}

/// One weight per threadgroup: out[group] = sum over firsts[group] <= i < firsts[group + 1] of factor * weights[interaction] *
/// powers[power] of term i.
/// Given: elements.
/// Cost: elements ext products, 44 * elements bytes per launch.
/// Lengths: firsts groups + 1, out groups.
/// Requires: threads_per_group <= 256.
/// Safety: `firsts` rises up to the length of `terms`, whose interactions lie in `weights` and whose powers in `powers`. `elements` is that length.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_logup_weights(
    device const uint* firsts [[buffer(0)]],
    device const ConstraintWeightTerm* terms [[buffer(1)]],
    device const FpExt* weights [[buffer(2)]],
    device const FpExt* powers [[buffer(3)]],
    device FpExt* out [[buffer(4)]],
    uint tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    FpExt total = fpext_zero<uint>();
    for (uint i = firsts[group] + tid; i < firsts[group + 1u]; i += tpg) {
        ConstraintWeightTerm term = terms[i];
        total = total + weights[term.interaction] * powers[term.power] * term.factor;
    }
    FpExt sum = fpext_group_sum(total, scratch, tid, tpg);
    if (tid == 0u) out[group] = sum;
}

/// One sum per threadgroup: sums[group] = sum over i < length of weights[i] * (sum over the program's sections of
/// element i). At most one extension product per element and section.
/// Given: elements.
/// Cost: elements ext products, 16 * elements bytes per launch.
/// Lengths: jobs, sums groups.
/// Safety: the elements of each job lie in `partials`, its weights in `tables`. `elements` counts them in all sections.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_sum(
    device const ConstraintSumJob* jobs [[buffer(0)]],
    device const Fp* partials [[buffer(1)]],
    device const FpExt* tables [[buffer(2)]],
    device FpExt* sums [[buffer(3)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    LANE_MULTIPLE(jobs[group].length);
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    ConstraintSumJob job = jobs[group];
    FpExtL total = fpext_zero<uint_l>();
#if LANE_WIDTH == 1
    // Few elements of many sections: the threads share the sections.
    if (job.length < tpg && job.sections > 1u) {
        for (uint k = tid; k < job.sections * job.length; k += tpg) {
            uint section = k / job.length, i = k - section * job.length;
            FpExt value = constraint_load_planes(partials + job.partials + ulong(section) * job.section_stride, job.plane_stride, i);
            total = total + value * tables[job.weights + i];
        }
        job.length = 0u;
    }
#endif
    for (uint i0 = 0; i0 < job.length; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, job.length) {
            FpExtL value = fpext_zero<uint_l>();
            for (uint k = 0; k < job.sections; k++) {
                value = value + constraint_load_planes(partials + job.partials + ulong(k) * job.section_stride, job.plane_stride, i);
            }
            total = total + value * lane_load(tables + job.weights, i);
        }
    }
    FpExt sum = fpext_group_sum(total, scratch, tid, tpg);
    if (LANE_LEADER(tid)) sums[group] = sum;
}

/// One row of one column per thread, in place: row i becomes row i + r (row i + half - row i).
/// Given: rows.
/// Cost: rows ext products, 48 * rows bytes per launch.
/// Lengths: challenges params.r + 1.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); the jobs' columns lie in `arena`.
/// `rows` counts the threads of the jobs.
[[max_total_threads_per_threadgroup(256)]]
kernel void constraint_fold_mle(
    device const ConstraintFoldJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const FpExt* challenges [[buffer(2)]],
    device Fp* arena [[buffer(3)]],
    constant ConstraintFoldParams& params [[buffer(4)]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]],
    uint group [[threadgroup_position_in_grid]])
{
    ConstraintFoldJob job = jobs[find_job(jobs, starts, group)];
    LANE_MULTIPLE(1u << job.log_half);
    JobShare share = job_share(job.first_group, job.threads, group, params.block);
    FpExt r = challenges[params.r];
    for (uint i0 = 0; i0 < share.count; i0 += tpg) {
        index_l i = index_l(tid) + ulong(i0);
        LANE_GUARD(i, share.count) {
            index_l t = i + ulong(share.first);
            device Fp* column = arena + job.arena + 4u * lane_div_pow2(t, job.log_half) * ulong(job.plane_stride);
            index_l y = lane_mod_pow2(t, job.log_half);
            FpExtL zero = constraint_load_planes(column, job.plane_stride, y);
            FpExtL one = constraint_load_planes(column, job.plane_stride, y + (1ul << job.log_half));
            constraint_store_planes(column, job.plane_stride, y, zero + (one - zero) * r);
        }
    }
}

/// One element per thread: out[i] is the first element of column i.
/// Cost: 0 products, 48 bytes per thread.
/// Lengths: openings, out count.
/// Safety: each of `openings` lies in `arena`.
kernel void constraint_collect_openings(
    device const ConstraintOpening* openings [[buffer(0)]],
    device const Fp* arena [[buffer(1)]],
    device FpExt* out [[buffer(2)]],
    constant uint& count [[buffer(3)]],
    uint gid [[thread_position_in_grid]])
{
    if (gid >= count) return;
    ConstraintOpening opening = openings[gid];
    device const Fp* p = arena + opening.arena;
    ulong stride = opening.plane_stride;
    out[gid] = fpext_make(p[0], p[stride], p[2u * stride], p[3u * stride]);
}

/// Leaves without interaction: 0 / alpha. One leaf per thread.
/// Cost: 0 products, 20 bytes per thread.
/// Lengths: numerators, denominators count.
kernel void constraint_fill_leaves(
    device Fp* numerators [[buffer(0)]],
    device FpExt* denominators [[buffer(1)]],
    constant FpExt& alpha [[buffer(2)]],
    constant uint& count [[buffer(3)]],
    uint gid [[thread_position_in_grid]])
{
    if (gid >= count) return;
    numerators[gid] = fp_zero<uint>();
    denominators[gid] = alpha;
}
