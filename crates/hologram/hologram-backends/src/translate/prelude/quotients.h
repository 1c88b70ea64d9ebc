// Quotients of integers; divisors are not zero.

// a / b, where `half_quotient` is (a / 2) / b or one off. Apple GPUs have been seen to divide 32-bit dividends near the largest with a
// quotient one too large. Half of the dividend is below these, and no compiler knows that a quotient made so needs no correction.
METAL_FUNC uint hg_whole_quotient(uint half_quotient, uint a, uint b) {
    uint q = 2u * half_quotient;
    const ulong twice = 2ul * (ulong)b;
    ulong p = (ulong)half_quotient * twice;
    if (p > a) { q -= 2u; p -= twice; }
    ulong rest = a - p;
    if (rest >= twice) { q += 2u; rest -= twice; }
    return rest >= b ? q + 1u : q;
}
template <class T> METAL_FUNC T hg_quotient(T a, T b) { return (T)(a / b); }
#if !MSL_PTX && !(MSL_HOST && !HG_AS_APPLE)
METAL_FUNC uint hg_quotient(uint a, uint b) { return hg_whole_quotient((a >> 1) / b, a, b); }
METAL_FUNC int hg_quotient(int a, int b) {
    const uint x = a < 0 ? 0u - (uint)a : (uint)a, y = b < 0 ? 0u - (uint)b : (uint)b, q = hg_quotient(x, y);
    return (int)((a < 0) != (b < 0) ? 0u - q : q);
}
#endif
