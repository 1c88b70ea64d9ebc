// Opened rows of codewords that are not there: the passes before the last of their transform are done.
#include "../ntt/tile.h"
#include "params.h"

/// Run j of a column are the coefficients of the message modulo X^(2^log_run) - x^(2^log_run) for all points x whose number, reversed,
/// has j as its high bits. A thread evaluates them at one point, the x of its row, as four polynomials of x^4, and writes one cell; the
/// threads of a query's rows, which are neighbours, read the same run.
/// Cost: (1 << p.log_terms) + 8 products, (4 << p.log_terms) + 16 bytes per thread.
/// Lengths: runs p.width << p.log_n, queries p.queries, rows p.queries * p.width << p.log_rows, roots 16384.
/// Requires: p.log_n >= 1, p.log_n <= 27, p.log_run <= p.log_n, p.log_terms <= p.log_run, p.log_rows + p.log_stride < 32.
kernel void commit_open_runs(device const Fp* runs [[buffer(0)]],
                             device const uint* queries [[buffer(1)]],
                             device Fp* rows [[buffer(2)]],
                             device const Fp* roots [[buffer(3)]],
                             constant CommitOpenParams& p [[buffer(4)]],
                             uint gid [[thread_position_in_grid]]) {
    if (gid >= (ulong(p.queries) * p.width << p.log_rows)) return;
    uint t = gid & ((1u << p.log_rows) - 1u), column = (gid >> p.log_rows) % p.width, query = (gid >> p.log_rows) / p.width;
    uint row = ((t << p.log_stride) + queries[query]) & ((1u << p.log_n) - 1u);
    uint at = reverse_bits(row) >> (32u - p.log_n), terms = 1u << p.log_terms;
    device const Fp* run = runs + ((ulong(column) << p.log_n) + (at >> p.log_run << p.log_run));
    Fp x = ntt_root(roots, at >> 1);
    if ((at & 1u) != 0u) x = Fp{0u} - x;
    Fp x2 = x * x, x4 = x2 * x2;
    Fp sums[4] = {Fp{0u}, Fp{0u}, Fp{0u}, Fp{0u}};
    for (uint left = (terms + 3u) >> 2; left > 0u; left--) {
        MSL_UNROLL for (uint k = 0; k < 4u; k++) {
            uint e = 4u * (left - 1u) + k;
            sums[k] = sums[k] * x4 + (e < terms ? run[e] : Fp{0u});
        }
    }
    Fp sum = (sums[0] + x * sums[1]) + x2 * (sums[2] + x * sums[3]);
    if (p.scale != 0u) sum = sum * Fp{p.scale};
    rows[((ulong(query) << p.log_rows) + t) * p.width + column] = sum;
}
