//! The options of `verify` by which a user takes something on trust.

use clap::Args;
use openvm_metal_sdk::MIN_SECURITY_BITS;

/// Options by which the user takes a key or parameters on trust.
#[derive(Args, Debug)]
pub struct TrustArgs {
    /// Trust the file of the key, or the contract: it was made on your machine, or comes from a person that you trust.
    ///
    /// A key of another origin can be the key of any circuit.
    #[arg(long)]
    pub trust_vk: bool,
    /// Accept parameters of less than 80 bits of security: such proofs can be forged.
    #[arg(long)]
    pub allow_insecure: bool,
}

impl TrustArgs {
    /// The bits of security that are required.
    pub fn min_security_bits(&self) -> f64 {
        match self.allow_insecure {
            true => 0.0,
            false => MIN_SECURITY_BITS,
        }
    }
}

/// The options with which `verify` takes a key and parameters of so many bits of security from the user who made them.
pub fn of_own_key(security_bits: f64) -> &'static str {
    match security_bits < MIN_SECURITY_BITS {
        true => " --trust-vk --allow-insecure",
        false => " --trust-vk",
    }
}
