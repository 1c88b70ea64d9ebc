//! Factors of the sums of a round, and the challenges: the working memory of the rounds.

use p3_field::PrimeCharacteristicRing;

use super::round0::{FactorsAt, UnivariateFactors};
use crate::prelude::EF;

/// Places of the values for kernels: `STACKED_EQ`, .. of `metal/openings/params.h`. The challenges `u_1, u_2, ..` stand before.
const EQ: usize = 32;
const ROT: usize = 33;
const STEP: usize = 34;
const ONE: usize = 35;
const TWO: usize = 37;
const SMALL: usize = 40;

/// The weight of `g_0` is `eq * eq(x; r)`, that of `g_1` is `rot * eq(x; r) + step * eq(x - 1; r)`, for the
/// variables that are left.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    eq: EF,
    rot: EF,
    step: EF,
}

impl Factors {
    fn new(at: &FactorsAt) -> Self {
        Self {
            eq: at.eq,
            rot: at.rot - at.step,
            step: at.step,
        }
    }

    /// The weights of a column that is bound to one value: of `lambda_eq` and of `lambda_rot`.
    fn bound(&self) -> [EF; 2] {
        [self.eq, self.rot + self.step]
    }

    /// With the lowest variable set to `x`: factors of `S0`, `S1`, `S2`.
    pub fn at(&self, r: EF, x: EF) -> [EF; 3] {
        let eq = (EF::ONE - x) * (EF::ONE - r) + x * r;
        let rot = self.rot * eq + self.step * x * (EF::ONE - r);
        [self.eq * eq, rot, self.step * (EF::ONE - x) * r]
    }
}

/// The working memory, as kernels have it.
pub(super) struct Work {
    memory: Vec<EF>,
    /// Factors of all heights with variables left.
    pub factors: Factors,
    /// Challenges `u_1, u_2, ..` so far.
    rounds: usize,
}

impl Work {
    /// Before round 1, in which the coordinate is `r`.
    pub fn new(l_skip: usize, univariate: &UnivariateFactors, u_0: EF, r: EF) -> Self {
        let mut memory = EF::zero_vec(SMALL);
        for small in 1..=l_skip as isize {
            memory.extend(Factors::new(&univariate.at(-small, u_0)).bound());
        }
        let mut work = Self {
            memory,
            factors: Factors::new(&univariate.at(0, u_0)),
            rounds: 0,
        };
        work.set(r);
        work
    }

    /// Place of the factors of columns with `2^(l_skip + n)` rows.
    pub fn place(n: isize) -> usize {
        match n {
            0.. => EQ,
            _ => SMALL + 2 * (n.unsigned_abs() - 1),
        }
    }

    /// Ends a round whose coordinate was `r`; that of the next one is `next`.
    pub fn fold(&mut self, r: EF, u: EF, next: EF) {
        self.memory[self.rounds] = u;
        self.rounds += 1;
        let [eq, rot, step] = self.factors.at(r, u);
        self.factors = Factors { eq, rot, step };
        self.set(next);
    }

    fn set(&mut self, r: EF) {
        let Factors { step, .. } = self.factors;
        let [eq, rot] = self.factors.bound();
        let [one, two] = [EF::ONE, EF::TWO].map(|x| self.factors.at(r, x));
        (self.memory[EQ], self.memory[ROT], self.memory[STEP]) = (eq, rot, step);
        self.memory[ONE..ONE + 2].copy_from_slice(&one[..2]);
        self.memory[TWO..TWO + 3].copy_from_slice(&two);
    }

    /// All of it.
    pub fn memory(&self) -> &[EF] {
        &self.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::StackedBlock;

    #[test]
    fn places_are_those_of_the_kernels() {
        let header = include_str!("../../../metal/openings/params.h");
        let places = [EQ, ROT, STEP, ONE, TWO, SMALL];
        for (name, place) in ["EQ", "ROT", "STEP", "ONE", "TWO", "SMALL"]
            .iter()
            .zip(places)
        {
            let constant = format!("STACKED_{name} = {place}u;");
            assert!(header.contains(&constant), "{constant}");
        }
        let constant = format!("STACKED_NONE = {:#x}u;", StackedBlock::NONE);
        assert!(header.contains(&constant), "{constant}");
    }
}
