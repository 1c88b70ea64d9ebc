#pragma once
// Tensor tables T[y] = scale * prod_i (bit i of y ? w1[i] : w0[i]): eq polynomials, their Moebius
// variant, monomials and powers are all of this shape. A table is kept as two factor tables,
// low[l] (with the scale) and high[h], whose outer product it is: T[h << low_bits | l] = low[l] * high[h].
#include "lane_util.h"
#include "params.h"

/// One entry of a factor: the product of the weights that the bits of `y` choose. `count` products.
template <typename U>
inline FpExtT<U> tensor_factor(constant PolyTensorParams& p, uint first, uint count, U y) {
    FpExtT<U> acc = fpext_select_bit(p.w0[first], p.w1[first], y & 1u);
    for (uint i = 1; i < count; i++) acc = acc * fpext_select_bit(p.w0[first + i], p.w1[first + i], (y >> i) & 1u);
    return acc;
}
