#include "../field/fp_ext.h"
#include "params.h"

constant constexpr uint TRANSPOSE_LOG_CELLS = 11u;  // of a tile
constant constexpr uint TRANSPOSE_CELLS = 1u << TRANSPOSE_LOG_CELLS;
constant constexpr uint TRANSPOSE_THREADS = 256u;
constant constexpr uint TRANSPOSE_BATCH = TRANSPOSE_CELLS / TRANSPOSE_THREADS;

/// Word of a cell in a tile of 2^log_cols columns, a column after the other. Their distance is such that neither the cells of a row nor
/// those of a column that 32 threads have share a bank.
inline uint transpose_at(uint row, uint col, uint log_cols) {
    return col * ((TRANSPOSE_CELLS >> log_cols) + (32u >> log_cols)) + row;
}

/// Transposes a base-field matrix: out[c * rows + r] = in[r * cols + c] (row major to column major, or back with
/// the dimensions exchanged). One threadgroup per tile of 2^p.log_tile columns and 2^11 cells, each read and written once; a thread
/// reads 8 before it waits for any.
/// Cost: 0 products, 16384 bytes per threadgroup.
/// Lengths: in, out p.rows * p.cols.
/// Requires: p.log_tile <= 5, p.tiles >= 1, p.tiles <= ceil_div(p.cols, 1 << p.log_tile),
/// groups <= ceil_div(p.rows, 2048 >> p.log_tile) * p.tiles.
[[max_total_threads_per_threadgroup(256)]]
kernel void matrix_transpose_base(device const Fp* in [[buffer(0)]],
                                  device Fp* out [[buffer(1)]],
                                  constant TransposeParams& p [[buffer(2)]],
                                  tid_l tid [[thread_index_in_threadgroup]],
                                  uint tpg [[threads_per_threadgroup]],
                                  uint group [[threadgroup_position_in_grid]]) {
    threadgroup uint tile[2080];
    uint log_cols = p.log_tile, log_rows = TRANSPOSE_LOG_CELLS - p.log_tile;
    uint down = group / p.tiles;
    ulong row0 = ulong(down) << log_rows, col0 = ulong(group - down * p.tiles) << log_cols;
    uint rows = uint(min(p.rows - row0, 1ul << log_rows)), cols = uint(min(p.cols - col0, 1ul << log_cols));
    device const Fp* from = in + (row0 * p.cols + col0);
    device Fp* to = out + (col0 * p.rows + row0);
#if LANE_WIDTH > 1
    uint full_rows = rows & ~(LANE_WIDTH - 1u), full_cols = cols & ~(LANE_WIDTH - 1u);
    for (uint r = 0; r < full_rows; r += LANE_WIDTH) {
        for (uint c = 0; c < full_cols; c += LANE_WIDTH) {
            uint_l::raw x[LANE_WIDTH];
            for (uint k = 0; k < LANE_WIDTH; k++) x[k] = lane_load(from, index_l((r + k) * p.cols + c, 1ul)).v.v;
            msl_cells<uint>::split<LANE_WIDTH>(x);
            for (uint k = 0; k < LANE_WIDTH; k++) lane_store(to, index_l((c + k) * p.rows + r, 1ul), FpL{uint_l::of(x[k])});
        }
    }
    for (uint r = 0; r < rows; r++) {
        for (uint c = r < full_rows ? full_cols : 0u; c < cols; c++) to[c * p.rows + r] = from[r * p.cols + c];
    }
#else
    uint row_mask = (1u << log_rows) - 1u, col_mask = (1u << log_cols) - 1u;
    if (tpg == TRANSPOSE_THREADS && rows > row_mask && cols > col_mask) {
        device const Fp* own = from + (ulong(tid >> log_cols) * p.cols + (tid & col_mask));
        ulong step = p.cols << (8u - log_cols);
        Fp x[TRANSPOSE_BATCH];
        MSL_UNROLL for (uint j = 0; j < TRANSPOSE_BATCH; j++) x[j] = own[j * step];
        uint at = transpose_at(tid >> log_cols, tid & col_mask, log_cols);
        MSL_UNROLL for (uint j = 0; j < TRANSPOSE_BATCH; j++) tile[at + (j << (8u - log_cols))] = x[j].v;
    } else {
        for (uint i = tid; i < TRANSPOSE_CELLS; i += tpg) {
            uint r = i >> log_cols, c = i & col_mask;
            if (r < rows && c < cols) tile[transpose_at(r, c, log_cols)] = from[r * p.cols + c].v;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = tid; i < TRANSPOSE_CELLS; i += tpg) {
        uint c = i >> log_rows, r = i & row_mask;
        if (r < rows && c < cols) to[c * p.rows + r] = Fp{tile[transpose_at(r, c, log_cols)]};
    }
#endif
}
