#pragma once
// The comparison of two words by their most significant limb that differs.
#include "../sub_air/lookups.h"
#include "../sub_air/row.h"

struct Comparison {
    bool less;
    uint limb;          ///< the highest limb that differs; 4 if none does
    uint difference;    ///< of this limb, positive
    int x_top, y_top;   ///< the highest limbs, with their signs
    uint offset;        ///< 128 if signed
};

inline Comparison compare(uint x, uint y, bool is_signed) {
    Comparison r;
    r.less = is_signed ? int(x) < int(y) : x < y;
    uint differs = x ^ y;
    r.limb = differs == 0u ? 4u : (31u - clz(differs)) >> 3;
    r.x_top = is_signed ? int(x) >> 24 : int(x >> 24);
    r.y_top = is_signed ? int(y) >> 24 : int(y >> 24);
    int a = r.limb == 3u ? r.x_top : int(byte_of(x, r.limb & 3u));
    int b = r.limb == 3u ? r.y_top : int(byte_of(y, r.limb & 3u));
    r.difference = uint(r.less ? b - a : a - b);
    if (r.limb == 4u) r.difference = 0u;
    r.offset = is_signed ? 128u : 0u;
    return r;
}

inline Fp signed_number(int x) { return x < 0 ? -fp_from_u32(uint(-x)) : fp_from_u32(uint(x)); }

/// The two highest limbs at `tops`; at `markers` a column for each limb that marks it, then the difference.
inline void put_comparison(Row row, uint tops, uint markers, uint limbs, Comparison c, Lookups t) {
    put(row, tops, signed_number(c.x_top));
    put(row, tops + 1u, signed_number(c.y_top));
    for (uint i = 0; i < limbs; i++) put_flag(row, markers + i, c.limb == i);
    put_number(row, markers + limbs, c.difference);
    request_bytes(t, uint(c.x_top) + c.offset, uint(c.y_top) + c.offset);
    if (c.limb < limbs) request_bytes(t, c.difference - 1u, 0u);
}
