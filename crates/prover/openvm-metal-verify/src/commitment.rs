//! `Commitment`: a digest as text, as OpenVM's files name it.

use std::{fmt, str::FromStr};

use openvm_stark_backend::p3_field::{PrimeCharacteristicRing, PrimeField32};
use serde::{de::Error as _, Deserialize, Deserializer, Serialize, Serializer};

use crate::prelude::{Digest, F};

/// A commitment: the 8 elements of a digest as digits of one number in base 2013265921, the first the least, in 32 bytes
/// with the most significant first. Its text is `0x` and 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Commitment([u8; 32]);

/// The reason why a text or bytes are no commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCommitment {
    /// Another length, or something else than digits.
    #[error("a commitment has 64 hexadecimal digits")]
    Digits,
    /// A number that no digest has.
    #[error("no digest has this commitment")]
    TooLarge,
}

impl Commitment {
    /// Takes the bytes of a commitment.
    ///
    /// # Errors
    /// [`NoCommitment::TooLarge`] if no digest has it.
    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, NoCommitment> {
        digest(bytes).map(|_| Self(bytes))
    }

    /// The bytes, the most significant first.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest.
    pub fn digest(&self) -> Digest {
        digest(self.0).unwrap_or_else(|_| unreachable!("every value was made of a digest"))
    }
}

/// The digits of a number, by dividing it by the modulus.
fn digest(mut number: [u8; 32]) -> Result<Digest, NoCommitment> {
    let digits = std::array::from_fn(|_| {
        let mut rest = 0u64;
        for byte in &mut number {
            let part = rest << 8 | u64::from(*byte);
            *byte = (part / u64::from(F::ORDER_U32)) as u8;
            rest = part % u64::from(F::ORDER_U32);
        }
        F::from_u32(rest as u32)
    });
    match number == [0; 32] {
        true => Ok(digits),
        false => Err(NoCommitment::TooLarge),
    }
}

impl From<Digest> for Commitment {
    fn from(digest: Digest) -> Self {
        let mut number = [0; 32];
        for digit in digest.iter().rev() {
            let mut carry = u64::from(digit.as_canonical_u32());
            for byte in number.iter_mut().rev() {
                let sum = u64::from(*byte) * u64::from(F::ORDER_U32) + carry;
                *byte = sum as u8;
                carry = sum >> 8;
            }
        }
        Self(number)
    }
}

impl FromStr for Commitment {
    type Err = NoCommitment;

    fn from_str(text: &str) -> Result<Self, NoCommitment> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.strip_prefix("0x").unwrap_or(text), &mut bytes)
            .map_err(|_| NoCommitment::Digits)?;
        Self::from_bytes(bytes)
    }
}

impl fmt::Display for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for Commitment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Commitment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_base_of_the_modulus() {
        let zero = Commitment::from([F::ZERO; 8]);
        assert_eq!(zero.as_bytes(), &[0; 32]);
        let mut digest = [F::ZERO; 8];
        digest[0] = F::from_u32(7);
        digest[1] = F::ONE;
        let text = Commitment::from(digest).to_string();
        // 7 + 2013265921.
        assert_eq!(text, format!("0x{:064x}", 2_013_265_928u64));
        let largest = Commitment::from([-F::ONE; 8]);
        assert_eq!(largest.digest(), [-F::ONE; 8]);
        assert_eq!(largest.to_string().parse(), Ok(largest));
    }

    #[test]
    fn numbers_and_texts_that_no_digest_has() {
        let mut above = *Commitment::from([-F::ONE; 8]).as_bytes();
        for byte in above.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
        assert_eq!(Commitment::from_bytes(above), Err(NoCommitment::TooLarge));
        assert_eq!(
            Commitment::from_bytes([0xff; 32]),
            Err(NoCommitment::TooLarge)
        );
        for text in ["", "0x", "0x00", &"0".repeat(63), &"g".repeat(64)] {
            assert_eq!(
                text.parse::<Commitment>(),
                Err(NoCommitment::Digits),
                "{text}"
            );
        }
        assert!("0".repeat(64).parse::<Commitment>().is_ok());
    }
}
