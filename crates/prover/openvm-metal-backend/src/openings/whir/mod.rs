//! WHIR: one opening of all stacked columns at one point (`docs/design/whir.md`).
//!
//! The prover works on the coefficients of `f` and on dual weights (see `state.rs`), so the messages of
//! the Reed-Solomon codes need no transform and a query adds a geometric sequence to the weights.

mod first_round;
mod opening;
mod queries;
mod rounds;
mod state;
mod sumcheck;
mod tables;
mod weights;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{proof::WhirProof, FiatShamirTranscript, WhirConfig};

use self::opening::Opening;
pub use self::opening::WhirCommit;
use crate::{
    commit::CodeShape, config::MetalProverConfig, error::MetalProverError, hash::HashScheme,
    prelude::EF,
};

/// Proves the opening of all stacked columns at `u` (`log_height` coordinates).
///
/// The bytes are those of the reference's `prove_whir_opening`. Tables of at most `2^mle_host_log_rows` elements are finished on the host.
#[allow(clippy::too_many_arguments)]
pub fn prove_whir<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
    s: &CommandStream,
    prover_config: &MetalProverConfig,
    transcript: &mut TS,
    l_skip: usize,
    log_blowup: usize,
    config: &WhirConfig,
    commits: &[WhirCommit<'_, SC>],
    u: &[EF],
) -> Result<WhirProof<SC>, MetalProverError> {
    let _stage = s.stage("prover.openings.whir");
    check_trees(commits, u.len() + log_blowup, config.k)?;
    let shape = CodeShape {
        l_skip,
        log_height: u.len(),
        log_blowup,
    };
    let opening = Opening {
        s,
        config,
        shape,
        commits,
        u,
    };
    rounds::prove(&opening, prover_config.mle_host_log_rows, transcript)
}

/// All trees must be over the same number of rows.
fn check_trees<SC: HashScheme>(
    commits: &[WhirCommit<'_, SC>],
    log_domain: usize,
    k: usize,
) -> Result<(), MetalProverError> {
    for commit in commits {
        let (tree_height, expected) = (commit.tree.query_stride() << k, 1 << log_domain);
        if tree_height != expected {
            return Err(MetalProverError::Parameters(format!(
                "a committed tree has {tree_height} rows, WHIR needs {expected}"
            )));
        }
    }
    Ok(())
}
