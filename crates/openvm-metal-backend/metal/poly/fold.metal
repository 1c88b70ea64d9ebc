#include "lane_util.h"
#include "params.h"

/// Folds the lowest variable of multilinear tables: out[y] = in[2y] + r (in[2y+1] - in[2y]).
/// Columns of even height that follow each other fold as one table.
/// Cost: 1 ext product, 48 bytes per thread.
/// Lengths: in 2 * p.threads, out p.threads.
kernel void poly_fold_ext(device const FpExt* in [[buffer(0)]],
                          device FpExt* out [[buffer(1)]],
                          constant PolyFoldParams& p [[buffer(2)]],
                          gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    index_l i = index_l(gid);
    FpExtPairL t = lane_load_pair(in, i);
    lane_store(out, i, t.even + (t.odd - t.even) * p.r);
}
