//! A product of a preprocessed and a cached column.

use std::sync::Arc;

use openvm_stark_backend::{
    air_builders::PartitionedAirBuilder,
    prover::{stacked_pcs::stacked_commit, AirProvingContext, ColMajorMatrix, CommittedTraceData},
    AirRef, BaseAirWithPublicValues, PartitionedBaseAir, StarkProtocolConfig,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_air::{Air, BaseAir, PairBuilder};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_matrix::{dense::RowMajorMatrix, Matrix};

use super::{HostTrace, SC};

struct Product {
    rows: usize,
}

impl<T: Field> BaseAir<T> for Product {
    fn width(&self) -> usize {
        2
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<T>> {
        Some(RowMajorMatrix::new_col(
            (0..self.rows).map(T::from_usize).collect(),
        ))
    }
}
impl<T: Field> BaseAirWithPublicValues<T> for Product {}
impl<T: Field> PartitionedBaseAir<T> for Product {
    fn cached_main_widths(&self) -> Vec<usize> {
        vec![1]
    }

    fn common_main_width(&self) -> usize {
        1
    }
}
impl<AB: PartitionedAirBuilder + PairBuilder> Air<AB> for Product
where
    AB::F: Field,
{
    fn eval(&self, builder: &mut AB) {
        let first = |row: Option<Vec<AB::Var>>| row.and_then(|row| row.first().cloned());
        let row = |m: &AB::M| m.row_slice(0).map(|row| row.to_vec());
        let preprocessed = first(row(&builder.preprocessed()));
        let common = first(row(builder.common_main()));
        let cached = builder.cached_mains().first().and_then(|m| first(row(m)));
        if let (Some(a), Some(b), Some(product)) = (preprocessed, cached, common) {
            builder.assert_eq(a * b, product);
        }
    }
}

pub(super) fn generate(rows: usize, config: &SC) -> (AirRef<SC>, HostTrace) {
    let params = config.params();
    let cached: Vec<F> = (0..rows).map(|i| F::from_usize(i * i + 1)).collect();
    let product = cached
        .iter()
        .enumerate()
        .map(|(i, &b)| F::from_usize(i) * b)
        .collect();
    let trace = ColMajorMatrix::new(cached, 1);
    let committed = stacked_commit(
        config.hasher(),
        params.l_skip,
        params.n_stack,
        params.log_blowup,
        params.k_whir(),
        &[&trace],
    );
    // The trace fits: it is shorter than the tallest of the circuit.
    let cached_mains = committed
        .map(|(commitment, data)| CommittedTraceData {
            commitment,
            trace,
            data: Arc::new(data),
        })
        .into_iter()
        .collect();
    let ctx = AirProvingContext::new(cached_mains, ColMajorMatrix::new(product, 1), vec![]);
    (Arc::new(Product { rows }), ctx)
}
