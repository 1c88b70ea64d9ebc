//! The proof-of-work kernel.

use openvm_metal_backend::kernels;
use openvm_metal_backend::params::GrindParams;
use openvm_metal_backend::selftest::CheckRng;
use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError};

use super::case::{Case, Least, Prepared, Work};

pub const CASES: &[Case] = &[Case {
    group: "grind",
    name: "slice",
    in_proofs: true,
    prepare: slice,
}];

/// A slice without a hit: all 31 bits must be zero, so every candidate is tested.
fn slice(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let mut rng = CheckRng::new(6);
    let threads = 1u32 << log_size;
    let state = std::array::from_fn(|_| rng.f());
    let p = GrindParams {
        state,
        position: 3,
        mask: u32::MAX >> 1,
        start: 0,
        threads,
    };
    let mut best = MetalBuffer::from_host(s, &[u32::MAX])?;
    let grid = Grid::threads(threads as usize);
    Ok(Prepared {
        size: format!("2^{log_size}"),
        work: Work {
            items: f64::from(threads),
            unit: "permutations",
            least: Least::Clauses,
        },
        launch: Box::new(move |s| kernels::grind_slice(s, grid, &mut best, &p)),
    })
}
