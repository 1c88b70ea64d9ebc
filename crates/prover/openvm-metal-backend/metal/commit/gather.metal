// Copies of small traces, as they lie in the stacked matrix.
#include "../field/baby_bear.h"
#include "params.h"

constant constexpr ulong COMMIT_GATHER_BLOCK = 4096; // cells per threadgroup

/// Threadgroup (x, y) writes cells x * 4096 .. of job y: 4 bytes read (1 / 2^log_stride of that for
/// strided traces) and 4 bytes written per cell. Groups past the end of a job do nothing.
/// Given: cells.
/// Cost: 0 products, 8 * cells bytes per launch.
/// Requires: groups.y <= 64.
/// Safety: each job of the grid reads inside its source and writes inside `target`. `cells` counts what they write.
[[max_total_threads_per_threadgroup(256)]]
kernel void commit_gather(
    device const Fp* source0 [[buffer(0)]],
    device const Fp* source1 [[buffer(1)]],
    device const Fp* source2 [[buffer(2)]],
    device const Fp* source3 [[buffer(3)]],
    device const Fp* source4 [[buffer(4)]],
    device const Fp* source5 [[buffer(5)]],
    device const Fp* source6 [[buffer(6)]],
    device const Fp* source7 [[buffer(7)]],
    device const Fp* source8 [[buffer(8)]],
    device const Fp* source9 [[buffer(9)]],
    device const Fp* source10 [[buffer(10)]],
    device const Fp* source11 [[buffer(11)]],
    device const Fp* source12 [[buffer(12)]],
    device const Fp* source13 [[buffer(13)]],
    device const Fp* source14 [[buffer(14)]],
    device const Fp* source15 [[buffer(15)]],
    device Fp* target [[buffer(16)]],
    constant CommitGatherParams& p [[buffer(17)]],
    uint2 group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint2 threads [[threads_per_threadgroup]]) {
    uint tpg = threads.x;
    CommitGatherJob job = p.jobs[group.y];
    ulong begin = ulong(group.x) * COMMIT_GATHER_BLOCK;
    uint n = begin < job.len ? uint(min(COMMIT_GATHER_BLOCK, job.len - begin)) : 0u;
    LANE_MULTIPLE(job.log_stride == 0u ? n : 1u);
    device const Fp* source = source0;
    if (job.source == 1u) source = source1;
    if (job.source == 2u) source = source2;
    if (job.source == 3u) source = source3;
    if (job.source == 4u) source = source4;
    if (job.source == 5u) source = source5;
    if (job.source == 6u) source = source6;
    if (job.source == 7u) source = source7;
    if (job.source == 8u) source = source8;
    if (job.source == 9u) source = source9;
    if (job.source == 10u) source = source10;
    if (job.source == 11u) source = source11;
    if (job.source == 12u) source = source12;
    if (job.source == 13u) source = source13;
    if (job.source == 14u) source = source14;
    if (job.source == 15u) source = source15;
    source += job.source_start;
    device Fp* out = target + job.target_start + begin;
    if (job.source >= COMMIT_SOURCES) {
        for (uint i0 = 0; i0 < n; i0 += tpg) {
            index_l i = index_l(tid) + i0;
            LANE_GUARD(i, n) { lane_store(out, i, fp_zero<uint_l>()); }
        }
    } else if (job.log_stride == 0u) {
        source += begin;
        for (uint i0 = 0; i0 < n; i0 += tpg) {
            index_l i = index_l(tid) + i0;
            LANE_GUARD(i, n) { lane_store(out, i, lane_load(source, i)); }
        }
    } else {
#if LANE_WIDTH == 1
        ulong mask = (1ul << job.log_stride) - 1ul;
        for (uint i0 = 0; i0 < n; i0 += tpg) {
            uint i = tid + i0;
            if (i < n) {
                ulong at = begin + i;
                out[i] = (at & mask) == 0ul ? source[at >> job.log_stride] : fp_zero<uint>();
            }
        }
#endif
    }
}
