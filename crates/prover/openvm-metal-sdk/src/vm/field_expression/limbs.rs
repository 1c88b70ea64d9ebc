//! `Limbs`: integers as sums of limbs of any size and sign, and how they are divided by a prime that divides them.

/// Bits of a canonical limb.
pub(super) const BITS: usize = 8;

/// Most limbs of an integer: the product of two numbers of 48 limbs, or of a prime of 48 and a quotient, has fewer.
pub(super) const MAX_LIMBS: usize = 104;

/// Words of [`Words`].
pub(super) const WORDS: usize = 8;

/// The low bits of an integer in two's complement.
pub(super) type Words = [u64; WORDS];

/// The integer `sum of at[i] * 2^(8 i)` for `i < len`. Limbs from `len` on are 0.
#[derive(Clone, Copy)]
pub(super) struct Limbs {
    pub len: usize,
    pub at: [i32; MAX_LIMBS],
}

impl Limbs {
    pub const ZERO: Self = Self {
        len: 0,
        at: [0; MAX_LIMBS],
    };

    /// Takes limbs from the lowest.
    ///
    /// # Panics
    /// Panics if there are more than [`MAX_LIMBS`].
    pub fn new(limbs: impl Iterator<Item = i32>) -> Self {
        let mut all = Self::ZERO;
        for limb in limbs {
            all.at[all.len] = limb;
            all.len += 1;
        }
        all
    }

    pub fn limbs(&self) -> &[i32] {
        &self.at[..self.len]
    }

    /// Each limb of both, by `f`.
    pub fn zip(&self, other: &Self, f: impl Fn(i32, i32) -> i32) -> Self {
        let mut all = *self;
        all.len = self.len.max(other.len);
        for (a, &b) in all.at.iter_mut().zip(&other.at) {
            *a = f(*a, b);
        }
        all
    }

    /// Product of polynomials: limbs are not carried.
    pub fn times(&self, other: &Self) -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { times_avx2(self, other) };
        }
        times(self, other)
    }

    /// The low words.
    pub fn words(&self) -> Words {
        let mut words = [0; WORDS];
        let mut carry = 0;
        for (word, limbs) in words.iter_mut().zip(self.at.chunks(8)) {
            for (place, &limb) in limbs.iter().enumerate() {
                let sum = carry + i64::from(limb);
                *word |= (sum as u64 & 0xff) << (BITS * place);
                carry = sum >> BITS;
            }
        }
        words
    }

    /// Carries of the first `count` limbs if the integer is 0: the last one is 0 then. Nothing for other integers.
    pub fn carries(&self, count: usize, carries: &mut Vec<i32>) -> Option<()> {
        let (mut carry, mut rest) = (0, 0);
        for &limb in &self.at[..count] {
            let sum = carry + limb;
            rest |= sum & 0xff;
            carry = sum >> BITS;
            carries.push(carry);
        }
        (carry == 0 && rest == 0).then_some(())
    }
}

#[inline(always)]
fn times(a: &Limbs, b: &Limbs) -> Limbs {
    let mut product = Limbs::ZERO;
    product.len = (a.len + b.len).saturating_sub(1);
    let b = b.limbs();
    for (place, &limb) in a.limbs().iter().enumerate() {
        for (sum, &other) in product.at[place..].iter_mut().zip(b) {
            *sum += limb * other;
        }
    }
    product
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn times_avx2(a: &Limbs, b: &Limbs) -> Limbs {
    times(a, b)
}

/// A product's low words.
fn low_product(a: &Words, b: &Words) -> Words {
    let mut product = [0; WORDS];
    for (place, &word) in a.iter().enumerate() {
        let mut carry = 0;
        for (sum, &other) in product[place..].iter_mut().zip(b) {
            let wide = u128::from(word) * u128::from(other) + u128::from(*sum) + carry;
            *sum = wide as u64;
            carry = wide >> 64;
        }
    }
    product
}

/// The inverse of an odd integer modulo the words' power of two.
pub(super) fn inverse(odd: &Words) -> Words {
    // Each step doubles the low bits that are right; 1 is right in one.
    let mut inverse = [1, 0, 0, 0, 0, 0, 0, 0];
    for _ in 0..(64 * WORDS).ilog2() {
        // inverse * (2 - odd * inverse)
        let mut factor = low_product(odd, &inverse).map(|word| !word);
        add_small(&mut factor, 3);
        inverse = low_product(&inverse, &factor);
    }
    inverse
}

fn add_small(words: &mut Words, mut carry: u64) {
    for word in words {
        let (sum, overflow) = word.overflowing_add(carry);
        (*word, carry) = (sum, u64::from(overflow));
    }
}

/// The quotient of an integer by an odd one, whose [`inverse`] is given, in `count` limbs, each with the quotient's sign. Nothing
/// if it has more. The words need not hold the whole integer. For an integer that is no multiple, the result is another number.
pub(super) fn exact_quotient(integer: &Words, inverse: &Words, count: usize) -> Option<Limbs> {
    let mut quotient = low_product(integer, inverse);
    let is_negative = quotient[WORDS - 1] >> 63 == 1;
    if is_negative {
        quotient = quotient.map(|word| !word);
        add_small(&mut quotient, 1);
    }
    let bytes = quotient.iter().flat_map(|word| word.to_le_bytes());
    if bytes.clone().skip(count).any(|byte| byte != 0) {
        return None;
    }
    let sign = if is_negative { -1 } else { 1 };
    Some(Limbs::new(
        bytes.take(count).map(|byte| sign * i32::from(byte)),
    ))
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use rand::{rngs::StdRng, Rng, SeedableRng};

    use super::*;

    fn random(rng: &mut StdRng, len: usize) -> Limbs {
        Limbs::new((0..len).map(|_| rng.random_range(-600..600)))
    }

    fn value(limbs: &Limbs) -> BigInt {
        let limbs = limbs.limbs().iter().rev();
        limbs.fold(BigInt::from(0), |value, &limb| (value << BITS) + limb)
    }

    #[test]
    fn sums_and_products_are_those_of_integers() {
        let rng = &mut StdRng::seed_from_u64(5);
        for _ in 0..200 {
            let [m, n] = [(); 2].map(|()| rng.random_range(1..50));
            let (a, b) = (random(rng, m), random(rng, n));
            assert_eq!(value(&a.times(&b)), value(&a) * value(&b));
            assert_eq!(value(&times(&a, &b)), value(&a) * value(&b));
            assert_eq!(value(&a.zip(&b, |a, b| a - b)), value(&a) - value(&b));
        }
    }

    #[test]
    fn quotients_are_exact() {
        let rng = &mut StdRng::seed_from_u64(6);
        for turn in 0..200 {
            let bits: u64 = rng.random_range(1..384);
            let prime = Limbs::new((0..bits.div_ceil(8)).map(|i| match i {
                0 => rng.random_range(0..128) * 2 + 1,
                _ => rng.random_range(0..256),
            }));
            let count = rng.random_range(1..50);
            let quotient = Limbs::new((0..count).map(|_| rng.random_range(0..256)));
            let sign = [1, -1][turn % 2];
            let product = prime.times(&quotient).zip(&Limbs::ZERO, |a, _| sign * a);
            let inverse = inverse(&prime.words());
            let found = exact_quotient(&product.words(), &inverse, count).expect("it fits");
            assert_eq!(value(&found), value(&quotient) * sign);
            let rest = product.zip(&prime.times(&found), |a, b| a - b);
            let mut carries = vec![];
            assert!(rest.carries(MAX_LIMBS, &mut carries).is_some());
            assert!(carries.iter().all(|&carry| carry == 0));
            assert!(
                product.carries(MAX_LIMBS, &mut carries).is_none()
                    || value(&product) == BigInt::from(0)
            );
        }
    }

    #[test]
    fn carries_are_those_of_openvm() {
        use openvm_circuit::primitives::bigint::OverflowInt;

        let rng = &mut StdRng::seed_from_u64(7);
        let (a, b) = (random(rng, 32), random(rng, 33));
        let zero = a.times(&b).zip(&b.times(&a), |a, b| a - b);
        let zero = zero.zip(&Limbs::new([512, -2, -255, -1].into_iter()), |a, b| a + b);
        let zero = zero.zip(&Limbs::new([0, 0, 255, 1].into_iter()), |a, b| a + b);
        let mut carries = vec![];
        assert!(zero.carries(64, &mut carries).is_some());
        let theirs = zero.at[..64].iter().map(|&limb| limb as isize).collect();
        let theirs = OverflowInt::from_computed_limbs(theirs, 0, 0).calculate_carries(BITS);
        assert!(carries.iter().map(|&carry| carry as isize).eq(theirs));
    }

    #[test]
    fn a_quotient_that_does_not_fit_is_none() {
        let prime = Limbs::new([251].into_iter());
        let product = prime.times(&Limbs::new([255, 255, 1].into_iter()));
        let inverse = inverse(&prime.words());
        assert!(exact_quotient(&product.words(), &inverse, 2).is_none());
        assert!(exact_quotient(&product.words(), &inverse, 3).is_some());
    }
}
