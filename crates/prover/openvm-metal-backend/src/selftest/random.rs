//! Reproducible random inputs.

use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};

use crate::prelude::{EF, F};

/// SplitMix64: small, and the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct CheckRng(u64);

impl CheckRng {
    /// A generator for a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// A base-field element; one in 16 is 0, 1 or p - 1.
    pub fn f(&mut self) -> F {
        match self.bits() % 48 {
            0 => F::ZERO,
            1 => F::ONE,
            2 => F::NEG_ONE,
            _ => F::from_u64(self.bits()),
        }
    }

    /// An extension element.
    pub fn ef(&mut self) -> EF {
        EF::from_basis_coefficients_fn(|_| self.f())
    }

    /// `n` base-field elements.
    pub fn fs(&mut self, n: usize) -> Vec<F> {
        (0..n).map(|_| self.f()).collect()
    }

    /// `n` extension elements.
    pub fn efs(&mut self, n: usize) -> Vec<EF> {
        (0..n).map(|_| self.ef()).collect()
    }
}
