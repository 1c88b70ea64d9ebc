// Sines, cosines and tangents of 64-bit floats for targets without a mathematics library. Needs `wide`, and ANGLE_CALL before the
// reduction; includes nothing, because `hologram-backends` puts this text in its kernels.

// Bits of 2 / pi after the point.
constant ulong TWO_OVER_PI[20] = {
    0xa2f9836e4e441529ul, 0xfc2757d1f534ddc0ul, 0xdb6295993c439041ul, 0xfe5163abdebbc561ul, 0xb7246e3a424dd2e0ul,
    0x06492eea09d1921cul, 0xfe1deb1cb129a73eul, 0xe88235f52ebb4484ul, 0xe99c7026b45f7e41ul, 0x3991d639835339f4ul,
    0x9c845f8bbdf9283bul, 0x1ff897ffde05980ful, 0xef2f118b5a0a6d1ful, 0x6d367ecf27cb09b7ul, 0x4f463f669e5fea2dul,
    0x7527bac7ebe5f17bul, 0x3d0739f78a5292eaul, 0x6bfb5fb11f8d5d08ul, 0x56033046fc7b6babul, 0xf0cfbc209af4361dul};
inline ulong two_over_pi(uint at) {
    uint w = at >> 6, s = at & 63u;
    return s == 0 ? TWO_OVER_PI[w] : TWO_OVER_PI[w] << s | TWO_OVER_PI[w + 1] >> (64u - s);
}

struct Angle {
    wide r;
    int quadrant;
};
// x = quadrant pi/2 + r with |r| <= pi/4, for finite x.
ANGLE_CALL Angle reduce_angle(wide x) {
    Angle a;
    if (__builtin_fabs(x) < 100000.0) {
        wide k = __builtin_rint(x * 0.6366197723675814);
        wide r = __builtin_fma(-k, 1.5707963267948966, x);
        r = __builtin_fma(-k, 6.123233995736766e-17, r);
        // Of 0 the sign would be lost.
        a.r = k == 0.0 ? x : __builtin_fma(-k, -1.4973849048591698e-33, r);
        a.quadrant = int(k);
        return a;
    }
    // x = m 2^e; the product with 2 / pi modulo 4, in 128 bits.
    ulong b = as_type<ulong>(x), m = (b & 0xffffffffffffful) | 0x10000000000000ul;
    int e = int((b >> 52) & 2047ul) - 1075;
    uint at = e < 2 ? 0u : uint(e - 2);
    ulong h = two_over_pi(at), l = two_over_pi(at + 64u), c = two_over_pi(at + 128u);
    ulong carry = mulhi(m, c), p1 = m * l + carry;
    ulong low = m * h, p0 = low + mulhi(m, l) + (p1 < carry ? 1ul : 0ul);
    if (e < 2) {
        uint s = uint(2 - e);
        ulong over = mulhi(m, h) + (p0 < low ? 1ul : 0ul);
        p1 = p0 << (64u - s) | p1 >> s;
        p0 = over << (64u - s) | p0 >> s;
    }
    uint q = uint(p0 >> 62);
    ulong f0 = p0 << 2 | p1 >> 62, f1 = p1 << 2;
    bool up = (f0 >> 63) != 0;
    if (up) {
        q += 1u;
        f1 = 0ul - f1;
        f0 = ~f0 + (f1 == 0 ? 1ul : 0ul);
    }
    wide r = (wide(f0) * 5.421010862427522e-20 + wide(f1) * 2.938735877055719e-39) * 1.5707963267948966;
    bool negative = up != ((b >> 63) != 0);
    a.r = negative ? -r : r;
    a.quadrant = (b >> 63) != 0 ? -int(q) : int(q);
    return a;
}

inline wide sine_near(wide r) {
    wide z = r * r, s = -7.585486485235938e-13;
    s = __builtin_fma(s, z, 1.6058510875319195e-10);
    s = __builtin_fma(s, z, -2.505210610025599e-08);
    s = __builtin_fma(s, z, 2.7557319218954762e-06);
    s = __builtin_fma(s, z, -0.00019841269841264567);
    s = __builtin_fma(s, z, 0.008333333333333331);
    s = __builtin_fma(s, z, -0.16666666666666666);
    return r == 0.0 ? r : __builtin_fma(s * z, r, r);
}
inline wide cosine_near(wide r) {
    wide z = r * r, s = 4.745198807202876e-14;
    s = __builtin_fma(s, z, -1.1470449354466773e-11);
    s = __builtin_fma(s, z, 2.0876755717584403e-09);
    s = __builtin_fma(s, z, -2.75573192211891e-07);
    s = __builtin_fma(s, z, 2.4801587301584367e-05);
    s = __builtin_fma(s, z, -0.0013888888888888887);
    s = __builtin_fma(s, z, 0.041666666666666664);
    return __builtin_fma(z * z, s, __builtin_fma(z, -0.5, 1.0));
}
inline bool is_finite(wide x) { return __builtin_fabs(x) < __builtin_inf(); }
inline wide real_sin(wide x) {
    if (!is_finite(x)) return __builtin_nan("");
    Angle a = reduce_angle(x);
    wide v = (a.quadrant & 1) != 0 ? cosine_near(a.r) : sine_near(a.r);
    return (a.quadrant & 2) != 0 ? -v : v;
}
inline wide real_cos(wide x) {
    if (!is_finite(x)) return __builtin_nan("");
    Angle a = reduce_angle(x);
    wide v = (a.quadrant & 1) != 0 ? sine_near(a.r) : cosine_near(a.r);
    return ((a.quadrant + 1) & 2) != 0 ? -v : v;
}
inline wide real_tan(wide x) {
    if (!is_finite(x)) return __builtin_nan("");
    Angle a = reduce_angle(x);
    wide s = sine_near(a.r), c = cosine_near(a.r);
    return (a.quadrant & 1) != 0 ? -c / s : s / c;
}
