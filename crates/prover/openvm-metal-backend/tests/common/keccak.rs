//! Keccak-f permutations: one AIR of 2633 columns without interactions, 24 rows each.

use std::sync::Arc;

use openvm_stark_backend::{
    prover::{AirProvingContext, ColMajorMatrix},
    BaseAirWithPublicValues, PartitionedBaseAir,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_air::{Air, AirBuilder, BaseAir};
use p3_field::Field;
use p3_keccak_air::{generate_trace_rows, KeccakAir};
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::{HostContext, Input};

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

/// Permutations of random states; the same for the same number.
pub fn keccakf(permutations: usize) -> Input {
    let mut rng = StdRng::seed_from_u64(permutations as u64);
    let inputs: Vec<[u64; 25]> = (0..permutations).map(|_| rng.random()).collect();
    let trace = ColMajorMatrix::from_row_major(&generate_trace_rows::<F>(inputs, 0));
    Input {
        airs: vec![Arc::new(Keccakf(KeccakAir {}))],
        ctx: HostContext::new(vec![(0, AirProvingContext::simple_no_pis(trace))]),
    }
}
