//! The moduli of a configuration: OpenVM searches without an end for a number that only odd primes have.

use std::{collections::BTreeSet, sync::Mutex};

use num_bigint::BigUint;
use num_prime::nt_funcs::is_prime;
use openvm_sdk_config::SdkVmConfig;

use crate::{error::SdkError, slot::lock};

/// Most bits of a modulus: 48 limbs of a byte.
const MAX_BITS: u64 = 384;

/// Setting of the extension fields.
const FP2: &str = "fp2.supported_moduli";

/// Most primes that are kept.
const MAX_PRIMES: usize = 256;

/// Primes that were found: a configuration is checked wherever it is used.
static PRIMES: Mutex<BTreeSet<BigUint>> = Mutex::new(BTreeSet::new());

fn is_odd_prime(number: &BigUint) -> bool {
    if lock(&PRIMES).contains(number) {
        return true;
    }
    let is_odd_prime =
        *number > BigUint::from(2u32) && is_prime::<BigUint>(number, None).probably();
    let mut primes = lock(&PRIMES);
    if is_odd_prime && primes.len() < MAX_PRIMES {
        primes.insert(number.clone());
    }
    is_odd_prime
}

/// Checks that every modulus is an odd prime of a size that the circuits have, that x^2 + 1 has no root where it makes a field, and that
/// curves are of their field and not singular.
///
/// # Errors
/// [`SdkError::Config`], which names the first that is none.
pub(crate) fn check(config: &SdkVmConfig) -> Result<(), SdkError> {
    let modular = config.modular.iter().flat_map(|modular| {
        let moduli = modular.supported_moduli.iter();
        moduli.map(|modulus| ("modular.supported_moduli", modulus))
    });
    let fp2 = config.fp2.iter().flat_map(|fp2| {
        let moduli = fp2.supported_moduli.iter();
        moduli.map(|(_, modulus)| (FP2, modulus))
    });
    let curves = config.ecc.iter().flat_map(|ecc| {
        ecc.supported_curves.iter().flat_map(|curve| {
            [
                ("ecc.supported_curves: modulus", &curve.modulus),
                ("ecc.supported_curves: scalar", &curve.scalar),
            ]
        })
    });
    for (setting, modulus) in modular.chain(fp2).chain(curves) {
        let bad = |reason: &str| {
            let digits: String = modulus.to_string().chars().take(120).collect();
            Err(SdkError::Config(format!("{setting}: {digits} {reason}")))
        };
        if modulus.bits() > MAX_BITS {
            return bad(&format!("has more than {MAX_BITS} bits"));
        }
        if !is_odd_prime(modulus) {
            return bad("is no odd prime");
        }
        // The extension's polynomial is x^2 + 1.
        if setting == FP2 && modulus % 4u32 == BigUint::from(1u32) {
            return bad("is 1 modulo 4: -1 is a square, so x^2 + 1 makes no field");
        }
    }
    let curves = config.ecc.iter().flat_map(|ecc| &ecc.supported_curves);
    for curve in curves {
        let (a, b, p) = (&curve.a, &curve.b, &curve.modulus);
        let bad = |reason: &str| {
            let name: String = curve.struct_name.chars().take(120).collect();
            Err(SdkError::Config(format!(
                "ecc.supported_curves: {name} {reason}"
            )))
        };
        if a >= p || b >= p {
            return bad("has a coefficient that is not below its modulus");
        }
        if ((a * a * a * 4u32 + b * b * 27u32) % p) == BigUint::ZERO {
            return bad("is singular: 4 a^3 + 27 b^2 is 0");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_curves() {
        let refused = |change: fn(&mut SdkVmConfig), text: &str| {
            let mut config = SdkVmConfig::standard();
            change(&mut config);
            let error = check(&config).expect_err(text).to_string();
            assert!(error.contains(text), "{error}");
        };
        refused(
            |config| {
                let fp2 = config.fp2.as_mut().expect("the extension");
                fp2.supported_moduli[0].1 = BigUint::from(13u32);
            },
            "fp2.supported_moduli: 13 is 1 modulo 4",
        );
        refused(
            |config| {
                let ecc = config.ecc.as_mut().expect("the extension");
                ecc.supported_curves[0].a = ecc.supported_curves[0].modulus.clone();
            },
            "Affine has a coefficient that is not below",
        );
        refused(
            |config| {
                let ecc = config.ecc.as_mut().expect("the extension");
                ecc.supported_curves[0].b = BigUint::ZERO;
            },
            "Affine is singular",
        );
    }

    #[test]
    fn only_odd_primes_are_moduli() {
        check(&SdkVmConfig::standard()).expect("moduli of known curves");
        check(&SdkVmConfig::riscv32()).expect("no moduli");
        let composite: BigUint = (BigUint::from(1u32) << 127) - 1u32;
        let composite = &composite * &composite;
        let large = (BigUint::from(1u32) << 521) - 1u32;
        for (modulus, text) in [
            (
                BigUint::from(0u32),
                "modular.supported_moduli: 0 is no odd prime",
            ),
            (BigUint::from(1u32), "no odd prime"),
            (BigUint::from(2u32), "no odd prime"),
            (BigUint::from(4u32), "no odd prime"),
            (BigUint::from(15u32), "no odd prime"),
            (BigUint::from(561u32), "no odd prime"),
            (composite, "no odd prime"),
            (large, "more than 384 bits"),
        ] {
            let mut config = SdkVmConfig::standard();
            let modular = config.modular.as_mut().expect("the extension");
            modular.supported_moduli.push(modulus);
            let error = check(&config).expect_err("no prime");
            assert!(error.to_string().contains(text), "{error}");
        }
        let mut config = SdkVmConfig::standard();
        config.fp2.as_mut().expect("the extension").supported_moduli[0].1 += 1u32;
        let error = check(&config).expect_err("no prime");
        assert!(error.to_string().contains("fp2"), "{error}");
        let mut config = SdkVmConfig::standard();
        config.ecc.as_mut().expect("the extension").supported_curves[0].scalar += 2u32;
        let error = check(&config).expect_err("no prime");
        assert!(error.to_string().contains("scalar"), "{error}");
    }
}
