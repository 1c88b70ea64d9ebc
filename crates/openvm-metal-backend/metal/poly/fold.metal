#include "lane_util.h"
#include "params.h"

/// Folds the lowest variable of multilinear tables: out[y] = in[2y] + r (in[2y+1] - in[2y]).
/// Columns of even height that follow each other fold as one table.
/// Per thread: 32 bytes read, 16 written, one extension product.
kernel void poly_fold_ext(device const FpExt* in [[buffer(0)]],
                          device FpExt* out [[buffer(1)]],
                          constant PolyFoldParams& p [[buffer(2)]],
                          gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    index_l i = index_l(gid);
    FpExtPairL t = lane_load_pair(in, i);
    lane_store(out, i, t.even + (t.odd - t.even) * p.r);
}
