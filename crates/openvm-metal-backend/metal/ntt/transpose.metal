#include "../field/fp_ext.h"
#include "params.h"

constant constexpr uint TRANSPOSE_TILE = 32u;

/// Transposes a base-field matrix: out[c * rows + r] = in[r * cols + c] (row major to column major, or back with
/// the dimensions exchanged). One threadgroup per tile of 32 x 32 cells, each read and written once.
/// Cost: 0 products, 8192 bytes per threadgroup.
/// Lengths: in, out p.rows * p.cols.
/// Requires: groups <= ceil_div(p.rows, 32) * ceil_div(p.cols, 32).
[[max_total_threads_per_threadgroup(256)]]
kernel void matrix_transpose_base(device const Fp* in [[buffer(0)]],
                                  device Fp* out [[buffer(1)]],
                                  constant TransposeParams& p [[buffer(2)]],
                                  tid_l tid [[thread_index_in_threadgroup]],
                                  uint tpg [[threads_per_threadgroup]],
                                  uint group [[threadgroup_position_in_grid]]) {
    threadgroup uint tile[1056];
    ulong tiles = (p.cols + (TRANSPOSE_TILE - 1u)) / TRANSPOSE_TILE;
    ulong row0 = (group / tiles) * TRANSPOSE_TILE, col0 = (group % tiles) * TRANSPOSE_TILE;
    uint rows = uint(min(p.rows - row0, ulong(TRANSPOSE_TILE))), cols = uint(min(p.cols - col0, ulong(TRANSPOSE_TILE)));
#if LANE_WIDTH > 1
    uint full_rows = rows & ~(LANE_WIDTH - 1u), full_cols = cols & ~(LANE_WIDTH - 1u);
    for (uint r = 0; r < full_rows; r += LANE_WIDTH) {
        for (uint c = 0; c < full_cols; c += LANE_WIDTH) {
            uint_l::raw x[LANE_WIDTH];
            for (uint k = 0; k < LANE_WIDTH; k++) x[k] = lane_load(in, index_l((row0 + r + k) * p.cols + col0 + c, 1ul)).v.v;
            msl_cells<uint>::split<LANE_WIDTH>(x);
            for (uint k = 0; k < LANE_WIDTH; k++) lane_store(out, index_l((col0 + c + k) * p.rows + row0 + r, 1ul), FpL{uint_l::of(x[k])});
        }
    }
    for (uint r = 0; r < rows; r++) {
        for (uint c = r < full_rows ? full_cols : 0u; c < cols; c++) out[(col0 + c) * p.rows + row0 + r] = in[(row0 + r) * p.cols + col0 + c];
    }
#else
    for (uint i = tid; i < TRANSPOSE_TILE * TRANSPOSE_TILE; i += tpg) {
        uint r = i / TRANSPOSE_TILE, c = i % TRANSPOSE_TILE;
        if (r < rows && c < cols) tile[r * (TRANSPOSE_TILE + 1u) + c] = in[(row0 + r) * p.cols + col0 + c].v;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = tid; i < TRANSPOSE_TILE * TRANSPOSE_TILE; i += tpg) {
        uint c = i / TRANSPOSE_TILE, r = i % TRANSPOSE_TILE;
        if (r < rows && c < cols) out[(col0 + c) * p.rows + row0 + r] = Fp{tile[r * (TRANSPOSE_TILE + 1u) + c]};
    }
#endif
}
