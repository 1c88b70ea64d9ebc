// WHIR: the columns of all stacked matrices, batched by powers of mu.
#include "accumulate.h"
#include "params.h"

/// out[row] (+)= sum of mu_powers[first_column + column] q[column][row] over the cells of one range of cells
/// of a stacked matrix, cell = column * 2^log_height + row; 4 wide products (2 products) per cell.
/// Cost: 2 * ceil_div(p.len, 1 << p.log_height) << p.log_block products,
/// 4 * ceil_div(p.len, 1 << p.log_height) + 16 << p.log_block bytes per threadgroup.
/// Lengths: cells p.len, mu_powers p.first_column + (p.start + p.len - 1 >> p.log_height) + 1, out 1 << p.log_height.
/// Requires: groups << p.log_block <= min(p.len, 1 << p.log_height), p.log_block <= p.log_height,
/// p.len % (1 << p.log_block) == 0, p.start % (1 << p.log_block) == 0.
[[max_total_threads_per_threadgroup(256)]]
kernel void whir_batch_columns(
    device const Fp* cells [[buffer(0)]],
    device const FpExt* mu_powers [[buffer(1)]],
    device FpExt* out [[buffer(2)]],
    constant WhirBatchParams& p [[buffer(3)]],
    uint group [[threadgroup_position_in_grid]],
    tid_l tid [[thread_index_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
    LANE_MULTIPLE(1u << p.log_block);
    // Blocks divide the start, the length and the height: within one, the column and the number of
    // cells in a row do not change.
    ulong height = 1ul << p.log_height, first = ulong(group) << p.log_block;
    ulong row0 = (p.start + first) & (height - 1ul);
    device const FpExt* mu = mu_powers + p.first_column + ((p.start + first) >> p.log_height);
    uint block = 1u << p.log_block;
    uint columns = uint((p.len - first + height - 1ul) >> p.log_height);
    for (uint i0 = 0u; i0 < block; i0 += tpg) {
        index_l i = index_l(tid) + i0;
        LANE_GUARD(i, block) {
            index_l cell = i + first;
            FpExtAcc acc = fpext_acc_zero();
            device const Fp* column = cells;
            device const FpExt* w = mu;
            for (uint c = 0u; c + 1u < columns; c += 2u) {
                acc = fpext_acc_fold(fpext_acc_mad2(acc, lane_load(column, cell), w[0], lane_load(column + height, cell), w[1]));
                column += 2ul * height;
                w += 2;
            }
            if ((columns & 1u) != 0u) acc = fpext_acc_mad(acc, lane_load(column, cell), w[0]);
            FpExtL sum = fpext_acc_reduce(acc);
            if (p.accumulate != 0u) sum = sum + lane_load((device const FpExt*)out, i + row0);
            lane_store(out, i + row0, sum);
        }
    }
}
