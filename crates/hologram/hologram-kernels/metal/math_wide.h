#pragma once
// Functions of 64-bit floats for targets without a mathematics library. Minimax polynomials.
#include "elements.h"

#if HAVE_WIDE && !(MSL_HOST && !SOFT_MATH)

template <uint N> struct Coefficients {
    wide c[N];
};

template <uint N> inline wide polynomial(wide x, Coefficients<N> p) {
    wide s = p.c[N - 1];
    MSL_UNROLL for (uint i = N - 1; i > 0; i--) s = __builtin_fma(s, x, p.c[i - 1]);
    return s;
}

// 2^k for -1022 <= k <= 1023.
inline wide power_of_two(int k) { return as_type<wide>(ulong(k + 1023) << 52); }

struct ExpParts {
    wide p;
    int k;
};
// x = k ln 2 + r and p = exp(r) - 1, for |x| < 800.
inline ExpParts exp_parts(wide x) {
    wide k = __builtin_rint(x * 1.4426950408889634);
    wide r = __builtin_fma(-k, 0.6931471805598903, x);
    r = __builtin_fma(-k, 5.497923018708371e-14, r);
    Coefficients<11> c = {{0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333325544, 0.0013888888888883327,
                           0.00019841269876864356, 2.4801587327007187e-05, 2.755725283351691e-06, 2.75572718102198e-07,
                           2.5106274733573296e-08, 2.0915442297780116e-09}};
    ExpParts e;
    e.p = __builtin_fma(r * r, polynomial(r, c), r);
    e.k = int(k);
    return e;
}

inline wide real_exp(wide x) {
    wide y = x < -746.0 ? -746.0 : x > 710.0 ? 710.0 : x;
    ExpParts e = exp_parts(y);
    int half_k = e.k >> 1;
    wide r = (1.0 + e.p) * power_of_two(half_k) * power_of_two(e.k - half_k);
    return x != x ? x : r;
}

inline wide real_log(wide x) {
    if (!(x > 0.0) || x == __builtin_inf()) return x == 0.0 ? -__builtin_inf() : x > 0.0 ? x : __builtin_nan("");
    bool tiny = x < 2.2250738585072014e-308;
    ulong b = as_type<ulong>(tiny ? x * 18014398509481984.0 : x);
    ulong e = ((b + (0x3ff0000000000000ul - 0x3fe6a09e667f3bcdul)) >> 52) - 1023ul;
    wide k = wide(long(e)) - (tiny ? 54.0 : 0.0);
    wide f = as_type<wide>(b - (e << 52)) - 1.0, s = f / (2.0 + f), z = s * s;
    Coefficients<8> c = {{0.6666666666666666, 0.4000000000000101, 0.2857142857072283, 0.2222222240984404,
                          0.18181793722272505, 0.15386342974308154, 0.1326603503726105, 0.13114976096717038}};
    wide m = __builtin_fma(s, z * polynomial(z, c) - f, f);
    return __builtin_fma(k, 0.6931471805598903, __builtin_fma(k, 5.497923018708371e-14, m));
}

inline wide real_tanh(wide x) {
    wide a = 2.0 * __builtin_fabs(x);
    ExpParts e = exp_parts(a > 44.0 ? 44.0 : a);
    wide scale = power_of_two(e.k), t = __builtin_fma(scale, e.p, scale - 1.0);
    wide r = __builtin_copysign(t / (t + 2.0), x);
    return x != x ? x : r;
}

#define ANGLE_CALL inline
#include "angles.h"

inline wide real_atan2(wide y, wide x) {
    if (x != x || y != y) return __builtin_nan("");
    wide a = __builtin_fabs(y), b = __builtin_fabs(x);
    wide small = a < b ? a : b, large = a < b ? b : a;
    wide q = large == 0.0 ? 0.0 : small == __builtin_inf() ? 1.0 : small / large;
    Coefficients<22> c = {{1.0, -0.3333333333333325, 0.19999999999986157, -0.14285714284820428, 0.11111111080383854,
                           -0.09090908440338843, 0.07692298432985685, -0.06666572806289763, 0.05881647236717415,
                           -0.05259103789485882, 0.0474370596643217, -0.042828645702794474, 0.038129809754225044,
                           -0.03264116292977077, 0.0259471057039563, -0.018386836817918875, 0.011122014669752633,
                           -0.005484778971809356, 0.002090633535263676, -0.0005727925781292097, 9.978410811953032e-05,
                           -8.26799581733715e-06}};
    wide t = q * polynomial(q * q, c);
    if (a > b) t = 1.5707963267948966 - t;
    if ((as_type<ulong>(x) >> 63) != 0) t = 3.141592653589793 - t;
    return __builtin_copysign(t, y);
}

// Error function within 2 ULP: x P(x^2) below 1, then 1 - exp(-Q(x)).
inline wide error_function(wide x) {
    wide a = __builtin_fabs(x);
    if (a < 1.0) {
        Coefficients<13> c = {{1.1283791670955126, -0.3761263890318375, 0.11283791670954885, -0.026866170645077875,
                               0.005223977624828431, -0.0008548326981425542, 0.0001205533113295582,
                               -1.4925595772180906e-05, 1.64610084778027e-06, -1.6350396222864617e-07,
                               1.466032872274226e-08, -1.137495573607015e-09, 5.960685338520971e-11}};
        return x * polynomial(x * x, c);
    }
    Coefficients<19> c = {{1.844473423807318e-07, 1.128377281727946, 0.6366287070723405, 0.1027466323231643,
                           -0.019076933557907898, -0.00028226237680285696, 0.001770964957037301,
                           -0.0006428696217754113, 4.598162655629887e-05, 6.973587572409675e-05,
                           -4.4763334686769555e-05, 1.6419113985133726e-05, -4.301106245672239e-06,
                           8.450433371958729e-07, -1.2480553021916258e-07, 1.351907514106392e-08,
                           -1.0167753012991664e-09, 4.7502577437744367e-11, -1.0386904644507612e-12}};
    wide r = 1.0 - real_exp(-polynomial(a > 6.0 ? 6.0 : a, c));
    return x != x ? x : __builtin_copysign(r, x);
}
#endif
