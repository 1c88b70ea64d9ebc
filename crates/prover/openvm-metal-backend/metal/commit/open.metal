// Opened rows of codewords that are not there: the first passes of their transform are done, up to runs that hold all rows of a query.
//
// Run j of a column are the coefficients of the message modulo X^(2^log_run) - x^(2^log_run) for all points x whose number, reversed, has j
// as its high bits. The R rows of a query are points x_t = x_0 w^(t stride) with one R-th power, so the sum over a run is R sums of every
// R-th coefficient times powers of x_0^R, and then a polynomial of degree R - 1 of each x_t.
#include "../ntt/tile.h"
#include "params.h"

/// The point of a row, whose number is taken modulo 2^p.log_n.
inline Fp open_point(device const Fp* roots, constant CommitOpenParams& p, uint row) {
    uint at = reverse_bits(row) >> (32u - p.log_n);
    Fp x = ntt_root(roots, at >> 1);
    return (at & 1u) != 0u ? Fp{0u} - x : x;
}

/// What a thread of either kernel works on: item `t` of the R of a query and a column.
struct OpenItem {
    uint t, column, query;
};
inline OpenItem open_item(constant CommitOpenParams& p, uint gid) {
    uint run = gid >> p.log_rows;
    return OpenItem{gid & ((1u << p.log_rows) - 1u), run % p.width, run / p.width};
}

/// The sums of every R-th coefficient of the runs that are opened. A thread makes one; those of a run are neighbours, in the order of
/// queries, columns, coefficients.
/// Cost: (1 << p.log_terms >> p.log_rows) + 2 products, (4 << p.log_terms >> p.log_rows) + 16 bytes per thread.
/// Lengths: runs p.width << p.log_n, queries p.queries, parts p.queries * p.width << p.log_rows, roots 16384.
/// Requires: p.log_n >= 1, p.log_n <= 27, p.log_run <= p.log_n, p.log_terms <= p.log_run, p.log_rows <= p.log_run,
/// p.log_rows + p.log_stride < 32.
kernel void commit_run_parts(device const Fp* runs [[buffer(0)]],
                             device const uint* queries [[buffer(1)]],
                             device Fp* parts [[buffer(2)]],
                             device const Fp* roots [[buffer(3)]],
                             constant CommitOpenParams& p [[buffer(4)]],
                             uint gid [[thread_position_in_grid]]) {
    if (gid >= (ulong(p.queries) * p.width << p.log_rows)) return;
    OpenItem item = open_item(p, gid);
    uint mask = (1u << p.log_n) - 1u, row = queries[item.query] & mask;
    uint at = reverse_bits(row) >> (32u - p.log_n) >> p.log_run << p.log_run;
    device const Fp* run = runs + ((ulong(item.column) << p.log_n) + at);
    Fp x = open_point(roots, p, (row << p.log_rows) & mask), sum = Fp{0u};
    uint terms = 1u << p.log_terms;
    for (uint left = (terms + (1u << p.log_rows) - 1u - item.t) >> p.log_rows; left > 0u; left--) {
        sum = sum * x + run[item.t + ((left - 1u) << p.log_rows)];
    }
    parts[gid] = sum;
}

/// The opened rows from the sums of every R-th coefficient. A thread reads the R sums of its run, as the others of the query's rows, and
/// writes one cell.
/// Cost: (1 << p.log_rows) + 2 products, (4 << p.log_rows) + 12 bytes per thread.
/// Lengths: parts p.queries * p.width << p.log_rows, queries p.queries, rows p.queries * p.width << p.log_rows, roots 16384.
/// Requires: p.log_n >= 1, p.log_n <= 27, p.log_rows + p.log_stride < 32.
kernel void commit_open_runs(device const Fp* parts [[buffer(0)]],
                             device const uint* queries [[buffer(1)]],
                             device Fp* rows [[buffer(2)]],
                             device const Fp* roots [[buffer(3)]],
                             constant CommitOpenParams& p [[buffer(4)]],
                             uint gid [[thread_position_in_grid]]) {
    if (gid >= (ulong(p.queries) * p.width << p.log_rows)) return;
    OpenItem item = open_item(p, gid);
    device const Fp* of_run = parts + (gid - item.t);
    Fp x = open_point(roots, p, ((item.t << p.log_stride) + queries[item.query]) & ((1u << p.log_n) - 1u)), sum = Fp{0u};
    for (uint left = 1u << p.log_rows; left > 0u; left--) sum = sum * x + of_run[left - 1u];
    if (p.scale != 0u) sum = sum * Fp{p.scale};
    rows[((ulong(item.query) << p.log_rows) + item.t) * p.width + item.column] = sum;
}
