//! Random traces that satisfy an AIR of a given shape.

use std::sync::Arc;

use openvm_stark_backend::{
    prover::{
        stacked_pcs::stacked_commit, AirProvingContext, ColMajorMatrix, CommittedTraceData,
        CpuColMajorBackend,
    },
    AirRef, StarkProtocolConfig,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use rand::{rngs::StdRng, Rng};
use rayon::prelude::*;

use super::air::ShapeAir;
use crate::circuit::catalogue::SC;

/// The odd constant of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Word `i` of a sequence, by SplitMix64.
fn word(seed: u64, i: u64) -> u64 {
    let mut x = seed.wrapping_add((i + 1).wrapping_mul(GOLDEN));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A column-major matrix of random elements, whose first `bits` columns hold zeros and ones.
fn matrix(rng: &mut StdRng, rows: usize, width: usize, bits: usize) -> ColMajorMatrix<F> {
    let seed: u64 = rng.random();
    let mut cells = F::zero_vec(rows * width);
    cells
        .par_chunks_mut(rows)
        .enumerate()
        .for_each(|(column, cells)| {
            let seed = word(seed, column as u64);
            let below = if column < bits { 2 } else { F::ORDER_U32 };
            for (row, cell) in cells.iter_mut().enumerate() {
                let high = word(seed, row as u64) >> 32;
                *cell = F::from_u32(((high * u64::from(below)) >> 32) as u32);
            }
        });
    ColMajorMatrix::new(cells, width)
}

impl ShapeAir {
    /// The AIR with random traces that satisfy it.
    pub fn with_trace(
        mut self,
        rng: &mut StdRng,
        config: &SC,
    ) -> (AirRef<SC>, AirProvingContext<CpuColMajorBackend<SC>>) {
        let rows = self.shape.height;
        if let Some(width) = self.shape.width.preprocessed {
            self.preprocessed = (0..rows * width)
                .map(|_| rng.random_range(0..F::ORDER_U32))
                .collect();
        }
        let params = config.params();
        let cached = self.shape.width.cached_mains.iter().map(|&width| {
            let trace = matrix(rng, rows, width, 0);
            stacked_commit(
                config.hasher(),
                params.l_skip,
                params.n_stack,
                params.log_blowup,
                params.k_whir(),
                &[&trace],
            )
            .map(|(commitment, data)| CommittedTraceData {
                commitment,
                trace,
                data: Arc::new(data),
            })
        });
        // A trace that is no taller than the stacked height, which the caller has checked, can be committed.
        let cached = cached.flatten().collect();
        let common = matrix(rng, rows, self.shape.width.common_main, self.bits());
        let ctx = AirProvingContext::new(cached, common, vec![]);
        (Arc::new(self), ctx)
    }
}
