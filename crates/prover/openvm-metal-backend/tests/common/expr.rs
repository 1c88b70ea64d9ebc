//! Small polynomials over the columns of a trace.

use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_field::PrimeCharacteristicRing;
use rand::{rngs::StdRng, Rng};

/// A cell of the row window, or a public value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Var {
    Common(usize),
    Cached(usize, usize),
    Preprocessed(usize),
    Public(usize),
}

/// A sum of products.
#[derive(Clone, Debug, Default)]
pub struct Expr(pub Vec<(F, Vec<Var>)>);

impl Expr {
    pub fn var(var: Var) -> Self {
        Self(vec![(F::ONE, vec![var])])
    }

    /// One to four products of at most `degree` of `vars`, one of them of exactly `degree`.
    pub fn random(rng: &mut StdRng, vars: &[Var], degree: usize) -> Self {
        let terms = rng.random_range(1..=4);
        let mut expr = Self::default();
        for i in 0..terms {
            let degree = if i == 0 {
                degree
            } else {
                rng.random_range(0..=degree)
            };
            let mut product: Vec<Var> = vec![];
            while product.len() < degree && !vars.is_empty() {
                product.push(vars[rng.random_range(0..vars.len())]);
            }
            // Public values are constants to the degree; they ride along.
            let coefficient = F::from_u32(rng.random_range(1..1000));
            expr.0.push((coefficient, product));
        }
        expr
    }

    pub fn eval<T: PrimeCharacteristicRing>(
        &self,
        constant: impl Fn(F) -> T,
        value: impl Fn(Var) -> T,
    ) -> T {
        let mut sum = T::ZERO;
        for (coefficient, product) in &self.0 {
            let mut term = constant(*coefficient);
            for &var in product {
                term *= value(var);
            }
            sum += term;
        }
        sum
    }
}
