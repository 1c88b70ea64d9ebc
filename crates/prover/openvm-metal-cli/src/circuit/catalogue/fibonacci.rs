//! Fibonacci numbers, one step per row; the first two and the last are public.

use std::sync::Arc;

use openvm_stark_backend::{
    prover::{AirProvingContext, ColMajorMatrix},
    AirRef, BaseAirWithPublicValues, PartitionedBaseAir,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_air::{Air, AirBuilder, AirBuilderWithPublicValues, BaseAir};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_matrix::Matrix;

use super::{HostTrace, SC};

struct Fibonacci;

impl<T> BaseAir<T> for Fibonacci {
    fn width(&self) -> usize {
        2
    }
}
impl<T: Field> BaseAirWithPublicValues<T> for Fibonacci {
    fn num_public_values(&self) -> usize {
        3
    }
}
impl<T: Field> PartitionedBaseAir<T> for Fibonacci {}
impl<AB: AirBuilderWithPublicValues> Air<AB> for Fibonacci {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let (Some(local), Some(next)) = (main.row_slice(0), main.row_slice(1)) else {
            return;
        };
        let public: Vec<AB::PublicVar> = builder.public_values().to_vec();
        let (a, b) = (local[0].clone(), local[1].clone());
        builder.when_first_row().assert_eq(a.clone(), public[0]);
        builder.when_first_row().assert_eq(b.clone(), public[1]);
        builder
            .when_transition()
            .assert_eq(next[0].clone(), b.clone());
        builder
            .when_transition()
            .assert_eq(next[1].clone(), a + b.clone());
        builder.when_last_row().assert_eq(b, public[2]);
    }
}

pub(super) fn generate(rows: usize) -> (AirRef<SC>, HostTrace) {
    let mut cells = F::zero_vec(2 * rows);
    let (mut a, mut b) = (F::ZERO, F::ONE);
    for row in 0..rows {
        (cells[row], cells[rows + row]) = (a, b);
        (a, b) = (b, a + b);
    }
    let public = vec![cells[0], cells[rows], cells[2 * rows - 1]];
    (
        Arc::new(Fibonacci),
        AirProvingContext::simple(ColMajorMatrix::new(cells, 2), public),
    )
}
