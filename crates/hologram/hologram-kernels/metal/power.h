// Powers of 64-bit floats for targets without a mathematics library, within 2 ULP. Needs `wide`, and POWER_CALL before
// functions; includes nothing, because `hologram-backends` puts this text in its kernels.

struct WidePair {
    wide h, l;
};

// ln x to about 2^-66 of itself, for finite x > 0: k ln 2 + 2 atanh s, with s and its cube in two parts.
POWER_CALL WidePair log_pair(wide x) {
    bool tiny = x < 2.2250738585072014e-308;
    ulong b = as_type<ulong>(tiny ? x * 18014398509481984.0 : x);
    ulong e = ((b + (0x3ff0000000000000ul - 0x3fe6a09e667f3bcdul)) >> 52) - 1023ul;
    wide k = wide(long(e)) - (tiny ? 54.0 : 0.0);
    wide f = as_type<wide>(b - (e << 52)) - 1.0;
    wide d = 2.0 + f, d_low = f - (d - 2.0);
    wide s = f / d, s_low = (__builtin_fma(-s, d, f) - s * d_low) / d;
    wide z = s * s, z_low = __builtin_fma(s, s, -z) + 2.0 * s * s_low;
    // atanh s = s + s z (1/3 + z q).
    wide q = 0.05381716513568554;
    q = __builtin_fma(q, z, 0.05228104273203721);
    q = __builtin_fma(q, z, 0.058834093989763095);
    q = __builtin_fma(q, z, 0.06666648196548897);
    q = __builtin_fma(q, z, 0.07692307881559636);
    q = __builtin_fma(q, z, 0.09090909089821166);
    q = __builtin_fma(q, z, 0.11111111111114241);
    q = __builtin_fma(q, z, 0.14285714285714282);
    q = __builtin_fma(q, z, 0.2);
    wide zq = z * q;
    wide p = 0.3333333333333333 + zq, p_low = ((0.3333333333333333 - p) + zq) + 1.850371707708594e-17;
    wide m = z * p, m_low = __builtin_fma(z, p, -m) + __builtin_fma(z, p_low, z_low * p);
    // Rounded also where products and sums are contracted.
    wide u = __builtin_fma(s, m, 0.0), u_low = __builtin_fma(s, m, -u) + __builtin_fma(s, m_low, s_low * m);
    wide a = s + u, a_low = ((s - a) + u) + (s_low + u_low);
    wide high = k * 0.6931471805598903, t = high + 2.0 * a;
    wide t_low = ((high - t) + 2.0 * a) + __builtin_fma(k, 5.497923018708371e-14, 2.0 * a_low);
    WidePair r;
    r.h = t + t_low;
    r.l = (t - r.h) + t_low;
    return r;
}

// e to the h + l, for -746 <= h <= 710 and small l.
POWER_CALL wide exp_pair(wide h, wide l) {
    wide k = __builtin_rint(h * 1.4426950408889634);
    wide r = __builtin_fma(-k, 0.6931471805598903, h);
    r = __builtin_fma(-k, 5.497923018708371e-14, r);
    wide q = 2.0915442297780116e-09;
    q = __builtin_fma(q, r, 2.5106274733573296e-08);
    q = __builtin_fma(q, r, 2.75572718102198e-07);
    q = __builtin_fma(q, r, 2.755725283351691e-06);
    q = __builtin_fma(q, r, 2.4801587327007187e-05);
    q = __builtin_fma(q, r, 0.00019841269876864356);
    q = __builtin_fma(q, r, 0.0013888888888883327);
    q = __builtin_fma(q, r, 0.008333333333325544);
    q = __builtin_fma(q, r, 0.04166666666666667);
    q = __builtin_fma(q, r, 0.1666666666666667);
    q = __builtin_fma(q, r, 0.5);
    wide p = __builtin_fma(r * r, q, r);
    wide m = 1.0 + (p + __builtin_fma(p, l, l));
    // In two steps: 2^k may be out of range where the result is not.
    int n = int(k), half_n = n >> 1;
    return m * as_type<wide>(ulong(half_n + 1023) << 52) * as_type<wide>(ulong(n - half_n + 1023) << 52);
}

// x to the y with the special values of IEEE 754.
POWER_CALL wide power(wide x, wide y) {
    if (y == 0.0 || x == 1.0) return 1.0;
    if (x != x || y != y) return x + y;
    const wide infinity = __builtin_inf();
    wide ax = __builtin_fabs(x), ay = __builtin_fabs(y);
    bool large = ay >= 9007199254740992.0, whole = large || wide(long(ay)) == ay;
    bool odd = !large && whole && (long(ay) & 1) != 0;
    if (x < 0.0 && !whole && ax < infinity) return __builtin_nan("");
    wide r = 1.0;
    if (ax == 0.0 || ax == infinity || ay == infinity) {
        if (ax != 1.0) r = (ax > 1.0) == (y > 0.0) ? infinity : 0.0;
    } else if (ax != 1.0) {
        WidePair t = log_pair(ax);
        wide p = y * t.h;
        if (p > 710.0) r = infinity;
        else if (p < -746.0) r = 0.0;
        else r = exp_pair(p, __builtin_fma(y, t.h, -p) + y * t.l);
    }
    return odd && (as_type<ulong>(x) >> 63) != 0 ? -r : r;
}
