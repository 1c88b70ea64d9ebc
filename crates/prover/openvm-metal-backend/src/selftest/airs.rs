//! Small AIRs with traces that satisfy them, for the check of a whole proof.

use std::sync::Arc;

use openvm_stark_backend::{
    air_builders::PartitionedAirBuilder,
    interaction::InteractionBuilder,
    p3_air::{Air, AirBuilder, BaseAir, BaseAirWithPublicValues, PairBuilder},
    p3_matrix::{dense::RowMajorMatrix, Matrix},
    prover::{
        stacked_pcs::stacked_commit, AirProvingContext, ColMajorMatrix, CommittedTraceData,
        CpuColMajorBackend,
    },
    PartitionedBaseAir, StarkProtocolConfig,
};
use p3_field::{Field, PrimeCharacteristicRing};

use super::CheckRng;
use crate::prelude::{F, SC};

pub(super) type HostTrace = AirProvingContext<CpuColMajorBackend<SC>>;

/// Products of a table: `count` triples of columns `a, b, a b`. The first `a` counts up from row to row,
/// and each row of the first triple is a message that is sent or received.
pub(super) struct ProductAir {
    pub count: usize,
    pub send: bool,
}

impl ProductAir {
    /// A random trace; the sender and the receiver of a table have the same one.
    pub fn trace(rng: &mut CheckRng, log_height: usize, count: usize) -> ColMajorMatrix<F> {
        let rows = 1usize << log_height;
        let mut cells = Vec::with_capacity(3 * count * rows);
        for triple in 0..count {
            let a: Vec<F> = match triple {
                0 => (0..rows).map(F::from_usize).collect(),
                _ => rng.fs(rows),
            };
            let b = rng.fs(rows);
            let products = a.iter().zip(&b).map(|(&a, &b)| a * b).collect();
            cells.extend([a, b, products].concat());
        }
        ColMajorMatrix::new(cells, 3 * count)
    }
}

impl BaseAir<F> for ProductAir {
    fn width(&self) -> usize {
        3 * self.count
    }
}
impl BaseAirWithPublicValues<F> for ProductAir {}
impl PartitionedBaseAir<F> for ProductAir {}

impl<AB: AirBuilder<F = F> + InteractionBuilder> Air<AB> for ProductAir {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let (Some(local), Some(next)) = (main.row_slice(0), main.row_slice(1)) else {
            return;
        };
        for triple in local.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|i| triple[i]);
            builder.assert_eq(a * b, c);
        }
        let step = local[0] + AB::Expr::ONE;
        builder.when_transition().assert_eq(step, next[0]);
        let count = if self.send {
            AB::Expr::ONE
        } else {
            AB::Expr::NEG_ONE
        };
        let message = [0, 1, 2].map(|i| local[i]);
        builder.push_interaction(0, message, count, 0);
    }
}

/// The product of a preprocessed and a cached column; its first and last value are public.
pub(super) struct CommittedAir {
    preprocessed: Vec<F>,
}

impl CommittedAir {
    /// An AIR of `2^log_height` rows with its trace; `None` if the reference cannot commit to it.
    pub fn with_trace(
        rng: &mut CheckRng,
        config: &SC,
        log_height: usize,
    ) -> Option<(Arc<Self>, HostTrace)> {
        let params = config.params();
        let (preprocessed, cached) = (rng.fs(1 << log_height), rng.fs(1 << log_height));
        let products: Vec<F> = preprocessed
            .iter()
            .zip(&cached)
            .map(|(&a, &b)| a * b)
            .collect();
        let public = vec![products[0], products[products.len() - 1]];
        let trace = ColMajorMatrix::new(cached, 1);
        let (commitment, data) = stacked_commit(
            config.hasher(),
            params.l_skip,
            params.n_stack,
            params.log_blowup,
            params.k_whir(),
            &[&trace],
        )
        .ok()?;
        let committed = CommittedTraceData {
            commitment,
            trace,
            data: Arc::new(data),
        };
        let common = ColMajorMatrix::new(products, 1);
        let context = AirProvingContext::new(vec![committed], common, public);
        Some((Arc::new(Self { preprocessed }), context))
    }
}

impl BaseAir<F> for CommittedAir {
    fn width(&self) -> usize {
        2
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<F>> {
        Some(RowMajorMatrix::new_col(self.preprocessed.clone()))
    }
}
impl BaseAirWithPublicValues<F> for CommittedAir {
    fn num_public_values(&self) -> usize {
        2
    }
}
impl PartitionedBaseAir<F> for CommittedAir {
    fn cached_main_widths(&self) -> Vec<usize> {
        vec![1]
    }

    fn common_main_width(&self) -> usize {
        1
    }
}

impl<AB> Air<AB> for CommittedAir
where
    AB: PartitionedAirBuilder
        + PairBuilder
        + openvm_stark_backend::p3_air::AirBuilderWithPublicValues
        + AirBuilder<F = F>,
    AB::F: Field,
{
    fn eval(&self, builder: &mut AB) {
        let first = |matrix: &AB::M| matrix.row_slice(0).and_then(|row| row.first().cloned());
        let preprocessed = first(&builder.preprocessed());
        let common = first(builder.common_main());
        let cached = builder.cached_mains().first().and_then(first);
        let (Some(a), Some(b), Some(product)) = (preprocessed, cached, common) else {
            return;
        };
        let public = builder.public_values().to_vec();
        builder.assert_eq(a * b, product.clone());
        builder
            .when_first_row()
            .assert_eq(product.clone(), public[0]);
        builder.when_last_row().assert_eq(product, public[1]);
    }
}
