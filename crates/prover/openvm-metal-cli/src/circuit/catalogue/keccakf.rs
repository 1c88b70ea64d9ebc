//! Keccak-f permutations, 24 rows each.

use std::sync::Arc;

use openvm_stark_backend::{
    prover::{AirProvingContext, ColMajorMatrix},
    AirRef, BaseAirWithPublicValues, PartitionedBaseAir,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_air::{Air, AirBuilder, BaseAir};
use p3_field::Field;
use p3_keccak_air::{generate_trace_rows, KeccakAir, NUM_KECCAK_COLS, NUM_ROUNDS};
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::{HostTrace, SC};

struct Keccakf(KeccakAir);

impl<T> BaseAir<T> for Keccakf {
    fn width(&self) -> usize {
        BaseAir::<T>::width(&self.0)
    }
}
impl<T: Field> BaseAirWithPublicValues<T> for Keccakf {}
impl<T: Field> PartitionedBaseAir<T> for Keccakf {}
impl<AB: AirBuilder> Air<AB> for Keccakf {
    fn eval(&self, builder: &mut AB) {
        self.0.eval(builder);
    }
}

/// Rows and columns of the trace; `None` if the number of rows overflows.
pub(super) fn dimensions(permutations: usize) -> Option<(usize, usize)> {
    let rows = permutations.checked_mul(NUM_ROUNDS)?;
    Some((rows.checked_next_power_of_two()?, NUM_KECCAK_COLS))
}

pub(super) fn generate(permutations: usize) -> (AirRef<SC>, HostTrace) {
    let mut rng = StdRng::seed_from_u64(42);
    let inputs: Vec<[u64; 25]> = (0..permutations).map(|_| rng.random()).collect();
    let trace = generate_trace_rows::<F>(inputs, 0);
    let trace = ColMajorMatrix::from_row_major(&trace);
    (
        Arc::new(Keccakf(KeccakAir {})),
        AirProvingContext::simple_no_pis(trace),
    )
}
