#pragma once
// The end of an MLE round on the device's transcript: what `src/constraints/claims.rs` and `round_poly.rs` do on the host.
//
// A claim is one sum that the challenges so far leave: an accumulator of a program of a trace, or the constant terms of its
// denominators. In a round with a variable left it becomes a polynomial p(X) of its degree d, known by the claim,
// (1 - xi) p(0) + xi p(1), and by its values at 1, .., d. From the forward differences D_k of p at 0 all else follows by
// additions: p(x + 1), and p(r) = sum_k D_k r (r - 1) .. (r - k + 1) / k!.
#include "params.h"

constant constexpr uint CONSTRAINT_DEGREES = 8u;  // of claims: 0 to 7
// Values of a round polynomial that are sent, X = 1 to 8, then the sum of claims that become part of the tail.
constant constexpr uint CONSTRAINT_ROUND_SUMS = CONSTRAINT_DEGREES + 1u;
// Of the working memory.
constant constexpr uint CONSTRAINT_EQ = 0u;        // eq(xi, .) at the challenges so far, for zerocheck
constant constexpr uint CONSTRAINT_EQ_SHARP = 1u;  // the same for LogUp
constant constexpr uint CONSTRAINT_TAIL = 2u;      // what exhausted traces leave, at the challenges so far
constant constexpr uint CONSTRAINT_CLAIMS = 3u;    // the claims

/// Forward differences at 0.
struct ConstraintDifferences {
    FpExt d[CONSTRAINT_DEGREES];
};

/// Those of a claim's polynomial, `values` its values from 1 on; at most 2 ext products.
inline ConstraintDifferences constraint_differences(FpExt claim, uint degree, device const FpExt* values, FpExt xi, FpExt inverse) {
    ConstraintDifferences p;
    MSL_UNROLL for (uint k = 1; k < CONSTRAINT_DEGREES; k++) {
        p.d[k] = fpext_zero<uint>();
        if (k <= degree) p.d[k] = values[k - 1u];
    }
    p.d[0] = claim;
    if (degree > 0u) p.d[0] = (claim - xi * p.d[1]) * inverse;
    MSL_UNROLL for (uint s = 1; s < CONSTRAINT_DEGREES; s++) {
        MSL_UNROLL for (uint k = CONSTRAINT_DEGREES - 1u; k >= s; k--) p.d[k] = p.d[k] - p.d[k - 1u];
    }
    // Beyond the degree they are zero.
    MSL_UNROLL for (uint k = 1; k < CONSTRAINT_DEGREES; k++) {
        if (k > degree) p.d[k] = fpext_zero<uint>();
    }
    return p;
}

/// From the differences at x to those at x + 1.
inline ConstraintDifferences constraint_step(ConstraintDifferences p) {
    MSL_UNROLL for (uint k = 0; k + 1u < CONSTRAINT_DEGREES; k++) p.d[k] = p.d[k] + p.d[k + 1u];
    return p;
}

/// p(r) from the differences at 0 of a polynomial of degree `degree`; 2 ext products and 4 products for each.
inline FpExt constraint_value(ConstraintDifferences p, uint degree, FpExt r, constant ConstraintFinishParams& params) {
    FpExt falling = r, sum = p.d[0];
    MSL_UNROLL for (uint k = 1; k < CONSTRAINT_DEGREES; k++) {
        if (k <= degree) {
            Fp inverse = params.inverse_factorials[k];
            sum = sum + p.d[k] * (falling * inverse);
            falling = falling * (r - fp_from_u32<uint>(k));
        }
    }
    return sum;
}
