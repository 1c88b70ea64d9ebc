//! The least security of parameters.

use openvm_metal_sdk::MIN_SECURITY_BITS;

/// The bits of security below which parameters are refused.
pub fn min_security_bits(allow_insecure: bool) -> f64 {
    match allow_insecure {
        true => 0.0,
        false => MIN_SECURITY_BITS,
    }
}
