//! Pairs of columns that hold the same values in another order: one message sent and one received per
//! pair and row.

use std::sync::Arc;

use openvm_stark_backend::{
    interaction::InteractionBuilder,
    prover::{AirProvingContext, ColMajorMatrix},
    AirRef, BaseAirWithPublicValues, PartitionedBaseAir,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_air::{Air, BaseAir};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_matrix::Matrix;
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::{HostTrace, SC};

struct Permutation {
    pairs: usize,
}

impl<T> BaseAir<T> for Permutation {
    fn width(&self) -> usize {
        2 * self.pairs
    }
}
impl<T: Field> BaseAirWithPublicValues<T> for Permutation {}
impl<T: Field> PartitionedBaseAir<T> for Permutation {}
impl<AB: InteractionBuilder> Air<AB> for Permutation {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let Some(local) = main.row_slice(0) else {
            return;
        };
        for pair in 0..self.pairs {
            let tag = AB::Expr::from_usize(pair);
            for (column, count) in [
                (pair, AB::Expr::ONE),
                (self.pairs + pair, AB::Expr::NEG_ONE),
            ] {
                let value: AB::Expr = local[column].into();
                builder.push_interaction(1, [value, tag.clone()], count, 1);
            }
        }
    }
}

pub(super) fn generate(rows: usize, pairs: usize) -> (AirRef<SC>, HostTrace) {
    let mut rng = StdRng::seed_from_u64(pairs as u64);
    let mut cells: Vec<F> = (0..rows * pairs).map(|_| rng.random()).collect();
    for pair in 0..pairs {
        let mut column = cells[pair * rows..(pair + 1) * rows].to_vec();
        column.rotate_left(pair % rows);
        cells.extend(column);
    }
    let trace = ColMajorMatrix::new(cells, 2 * pairs);
    (
        Arc::new(Permutation { pairs }),
        AirProvingContext::simple_no_pis(trace),
    )
}
