#pragma once
// Tables of eq(xi, y) = prod_t (y_t ? xi_t : 1 - xi_t) over the last j coordinates, for every j: a heap.
#include "params.h"

inline FpExtL gkr_select(FpExtL no, FpExtL yes, bool_l c) {
    FpExtL r;
    for (uint k = 0; k < EXT_DEGREE; k++) r.c[k] = FpL{select(no.c[k].v, yes.c[k].v, c)};
    return r;
}

/// Entry `i` of the two heaps; an ext product for each variable.
inline FpExtL gkr_eq_entry(device const FpExt* coordinates, constant GkrEqParams& params, uint_l i) {
    bool_l high = i >= uint_l(params.low_entries);
    uint_l e = max(select(i, i - uint_l(params.low_entries), high), uint_l(1u));
    uint_l zeros = clz(e);
    uint_l bits = e << zeros;  // the leading one at bit 31, then the last coordinate, ...
    FpExtL value = fpext_one<uint_l>();
    uint levels = max(params.low_vars, params.high_vars);
    for (uint first = 0; first < levels; first += 4u) {
        // Four levels' coordinates are loaded at once: products wait for one another, loads should not.
        FpExt x_low[4], x_high[4];
        MSL_UNROLL for (uint k = 0; k < 4u; k++) {
            // Level s is coordinate vars - s of the high heap and vars - skipped - s of the low one.
            uint of_high = params.vars > first + k ? params.vars - (first + k) : 0u;
            uint of_low = of_high > params.skipped ? of_high - params.skipped : 0u;
            x_high[k] = coordinates[params.first + params.stride * of_high];
            x_low[k] = coordinates[params.first + params.stride * of_low];
        }
        MSL_UNROLL for (uint k = 0; k < 4u; k++) {
            uint s = first + k;  // past the last level no entry has a factor
            FpExtL x = gkr_select(fpext_lanes(x_low[k]), fpext_lanes(x_high[k]), high);
            bool_l one = ((bits >> uint_l((30u - s) & 31u)) & uint_l(1u)) != uint_l(0u);
            FpExtL factor = gkr_select(fpext_one<uint_l>() - x, x, one);
            value = gkr_select(value, value * factor, uint_l(s) < uint_l(31u) - zeros);
        }
    }
    return value;
}
