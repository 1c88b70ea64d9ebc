// Stacked reduction: the value of every column at the point bound so far.
#include "../field/jobs.h"
#include "../field/lane_ops.h"
#include "../field/sources.h"
#include "accumulate.h"
#include "params.h"

/// One weight per thread: out[i] = base[i mod 2^log_base] times the product over k of eq(point[first + k], bit log_base + k of i), as four
/// planes of words.
/// Cost: p.bits ext products, 32 bytes per thread.
/// Lengths: base 1 << p.log_base, point p.first + p.bits, out 4 * p.len.
/// Requires: p.log_base < 32, p.bits <= 32.
kernel void stacked_row_weights(
    device const FpExt* base [[buffer(0)]],
    device const FpExt* point [[buffer(1)]],
    device Fp* out [[buffer(2)]],
    constant StackedWeightParams& p [[buffer(3)]],
    gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.len) return;
    index_l i = index_l(gid);
    uint_l bits = to_vec(i) >> p.log_base;
    FpExtL value = lane_gather(base, to_vec(i) & ((1u << p.log_base) - 1u));
    for (uint k = 0u; k < p.bits; k++) {
        FpExt x = point[p.first + k];
        value = value * fpext_select_bit(fpext_one<uint>() - x, x, (bits >> k) & 1u);
    }
    for (uint c = 0u; c < EXT_DEGREE; c++) lane_store(out + ulong(c) * p.len, i, value.c[c]);
}

#if LANE_WIDTH == 1
/// acc + the products of four neighbouring cells and their weights, of which the planes lie `plane` words apart. Folded before and after.
inline FpExtAcc stacked_add_quad(FpExtAcc acc, uint4 x, device const Fp* weights, uint plane) {
    for (uint c = 0u; c < EXT_DEGREE; c++) {
        uint4 w = ((device const uint4*)(weights + c * plane))[0];
        FpAcc sum = fp_acc_fold(fp_acc_mad(fp_acc_mad(acc.c[c], x.x, w.x), x.y, w.y));
        acc.c[c] = fp_acc_fold(fp_acc_mad(fp_acc_mad(sum, x.z, w.z), x.w, w.w));
    }
    return acc;
}
#endif

/// out[job.out + column * shares + share] = sum over the rows of the share of weight(row) q_column[row],
/// weight(row) = high[row >> log_low] * low[row mod 2^log_low], both four planes of words. A
/// threadgroup sums one share (2^log_block rows) of one column; 4 wide products (2 products) per cell and 16 bytes
/// of cached weights. Up to eight ranges of cells of the stacked matrix per dispatch.
/// Given: total.
/// Cost: 2 * total products, 4 * total + 16 * groups bytes per launch.
/// Requires: threads_per_group <= 256.
/// Safety: `jobs`, `starts` and the threadgroups are those of one dispatch (`field/jobs.h`); the columns of each job lie in its
/// source, its results in `out`; a share has a whole number of rows of `low`, and `high` reaches over a column. If p.quads is 1, sources and
/// `low` begin at multiples of 16 bytes. `total` counts the cells.
[[max_total_threads_per_threadgroup(256)]]
kernel void stacked_column_values(
    device const StackedColumnJob* jobs [[buffer(0)]],
    device const uint* starts [[buffer(1)]],
    device const Fp* low [[buffer(2)]],
    device const Fp* high [[buffer(3)]],
    device FpExt* out [[buffer(4)]],
    constant StackedValueParams& p [[buffer(5)]],
    device const Fp* source0 [[buffer(6)]], device const Fp* source1 [[buffer(7)]],
    device const Fp* source2 [[buffer(8)]], device const Fp* source3 [[buffer(9)]],
    device const Fp* source4 [[buffer(10)]], device const Fp* source5 [[buffer(11)]],
    device const Fp* source6 [[buffer(12)]], device const Fp* source7 [[buffer(13)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    threadgroup FpExt scratch[GROUP_SUM_THREADS];
    uint log_low = p.log_low;
    LANE_MULTIPLE(1u << log_low);
    StackedColumnJob job = jobs[find_job(jobs, starts, group)];
    uint local = group - job.first_group;
    uint log_shares = job.log_rows - job.log_block;
    uint column = local >> log_shares;
    ulong first = ulong(local & ((1u << log_shares) - 1u)) << job.log_block;
    device const Fp* cells = source_at(job.source, source0, source1, source2, source3, source4, source5, source6, source7) + job.cells;
    device const Fp* q = cells + (ulong(column) << job.log_rows) + first;
    ulong highs = 1ul << (job.log_rows - log_low);
    uint low_len = 1u << log_low, blocks = 1u << (job.log_block - log_low);
    device const Fp* h = high + (first >> log_low);
    FpExtL total = fpext_zero<uint_l>();
#if LANE_WIDTH == 1
    if (p.quads != 0u && (job.cells & 3ul) == 0ul && low_len >= 4u) {
        for (uint b = 0u; b < blocks; b++) {
            FpExtAcc acc = fpext_acc_zero();
            for (uint i0 = 4u * tid; i0 < low_len; i0 += 8u * tpg) {
                uint i1 = i0 + 4u * tpg;
                bool two = i1 < low_len;
                uint4 x = ((device const uint4*)(q + i0))[0], y = x;
                if (two) y = ((device const uint4*)(q + i1))[0];
                acc = stacked_add_quad(acc, x, low + i0, low_len);
                if (two) acc = stacked_add_quad(acc, y, low + i1, low_len);
            }
            total = total + fpext_acc_reduce(acc) * fpext_from_words(h, ulong(b), highs);
            q += low_len;
        }
    } else
#endif
    for (uint b = 0u; b < blocks; b++) {
        FpExtAcc acc = fpext_acc_zero();
        for (uint i0 = 0u; i0 < low_len; i0 += 2u * tpg) {
            for (uint half_of = 0u; half_of < 2u; half_of++) {
                uint at = i0 + half_of * tpg;
                index_l i = index_l(tid) + at;
                if (at < low_len) {
                    LANE_GUARD(i, low_len) {
                        FpL x = lane_load(q, i);
                        for (uint c = 0u; c < EXT_DEGREE; c++) {
                            acc.c[c] = fp_acc_mad(acc.c[c], x.v, lane_load(low + c * low_len, i).v);
                        }
                    }
                }
            }
            acc = fpext_acc_fold(acc);
        }
        total = total + fpext_acc_reduce(acc) * fpext_from_words(h, ulong(b), highs);
        q += low_len;
    }
    FpExt sum = fpext_group_sum(total, scratch, tid, tpg);
    if (LANE_LEADER(tid)) out[job.out + local] = sum;
}
