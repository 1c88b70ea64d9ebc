#pragma once
// The S-box of Poseidon2, x^7, on one word.
#include "../field/baby_bear.h"

#if MSL_PTX
/// a * b * 2^-32 mod p as a signed word, |a|, |b| < p: |result| < (p^2 + 2^31 p) / 2^32 < p. 2 wide + 1 low product.
inline int p2_signed_mul(int a, int b) {
    long t = msl_mul_wide(a, b);
    uint m = uint(t) * (0u - FP_MU);
    msl_opaque(m);
    return int((t + msl_mul_wide(int(m), int(FP_P))) >> 32);
}
/// (x + c)^7, c given as c - p. Between its products values are signed words: only the last one is reduced.
inline uint p2_sbox(uint x, uint c) {
    int y = int(msl_add3<0u>(x, c));
    int y2 = p2_signed_mul(y, y);
    int y3 = p2_signed_mul(y2, y), y4 = p2_signed_mul(y2, y2);
    uint r = uint(p2_signed_mul(y3, y4));
    return min(r, r + FP_P);
}
#else
/// (x + c)^7, c given as c - p.
inline uint p2_sbox(uint x, uint c) {
    Fp y = Fp{x + c};
    y.v = min(y.v, y.v + FP_P);
    Fp y2 = y * y;
    Fp y3 = y2 * y, y4 = y2 * y2;
    return (y3 * y4).v;
}
#endif
