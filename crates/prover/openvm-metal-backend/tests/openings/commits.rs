//! Random commitments: traces of mixed heights, stacked by the reference, brought to the device in
//! random ranges.

use std::sync::Arc;

use openvm_metal_backend::{
    prelude::{Digest, F, SC},
    MetalSliceOwned, StackedRange,
};
use openvm_metal_common::{CommandStream, MetalBuffer};
use openvm_stark_backend::{
    prover::{
        stacked_pcs::{stacked_commit, StackedPcsData},
        ColMajorMatrix,
    },
    StarkProtocolConfig, SystemParams,
};
use p3_field::PrimeCharacteristicRing;
use rand::{rngs::StdRng, Rng};

pub struct Commit {
    pub data: StackedPcsData<F, Digest>,
    pub need_rot: Vec<bool>,
}

/// Log-heights and widths by falling height.
pub type Shape = Vec<(usize, usize)>;

/// Up to six traces, heights from 1 to the stacked height.
pub fn random_shape(rng: &mut StdRng, params: &SystemParams) -> Shape {
    let mut shape: Shape = (0..rng.random_range(1..=6))
        .map(|_| {
            (
                rng.random_range(0..=params.log_stacked_height()),
                rng.random_range(1..=7),
            )
        })
        .collect();
    shape.sort_by_key(|&(log_height, _)| std::cmp::Reverse(log_height));
    shape
}

impl Commit {
    pub fn random(rng: &mut StdRng, config: &SC, shape: &Shape) -> Self {
        let params = config.params();
        let traces: Vec<ColMajorMatrix<F>> = shape
            .iter()
            .map(|&(log_height, width)| {
                let cells = (0..width << log_height)
                    .map(|_| F::from_u32(rng.random()))
                    .collect();
                ColMajorMatrix::new(cells, width)
            })
            .collect();
        let traces: Vec<&ColMajorMatrix<F>> = traces.iter().collect();
        let (_, data) = stacked_commit(
            config.hasher(),
            params.l_skip,
            params.n_stack,
            params.log_blowup,
            params.k_whir(),
            &traces,
        )
        .expect("stacked");
        let need_rot = shape.iter().map(|_| rng.random()).collect();
        Self { data, need_rot }
    }

    /// Cuts the stacked matrix at random trace boundaries; the padding is in the last range.
    pub fn ranges(&self, rng: &mut StdRng, s: &CommandStream) -> Vec<StackedRange> {
        let layout = &self.data.layout;
        let cells = &self.data.matrix.values;
        let mut cuts = vec![0];
        for &first in &layout.mat_starts {
            let slice = layout.sorted_cols[first].2;
            let start = slice.col_idx * layout.height() + slice.row_idx;
            if start > 0 && rng.random() {
                cuts.push(start);
            }
        }
        cuts.push(cells.len());
        cuts.windows(2)
            .map(|cut| {
                let buffer = MetalBuffer::from_host(s, &cells[cut[0]..cut[1]]).expect("upload");
                let len = buffer.len();
                let cells = MetalSliceOwned::new(Arc::new(buffer), 0, len);
                StackedRange {
                    start: cut[0] as u64,
                    cells,
                }
            })
            .collect()
    }
}
