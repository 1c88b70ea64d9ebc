//! WHIR: one opening of all stacked columns at one point (`docs/design/whir.md`).
//!
//! The prover works on the coefficients of `f` and on dual weights (see `state.rs`), so the messages of
//! the Reed-Solomon codes need no transform and a query adds a geometric sequence to the weights.

mod device_transcript;
mod first_round;
mod host_transcript;
mod opening;
mod queries;
mod state;
mod sumcheck;
mod tables;
mod weights;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{proof::WhirProof, FiatShamirTranscript, WhirConfig};

use self::opening::Opening;
pub use self::opening::WhirCommit;
use crate::{
    commit::CodeShape, config::MetalProverConfig, error::MetalProverError, grind::candidates,
    hash::HashScheme, prelude::EF,
};

/// Proves the opening of all stacked columns at `u` (`log_height` coordinates).
///
/// The bytes are those of the reference's `prove_whir_opening`. On the host's transcript, tables of at most `2^mle_host_log_rows`
/// elements are finished on the host.
#[allow(clippy::too_many_arguments)]
pub fn prove_whir<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
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
        candidates,
    };
    prove(&opening, prover_config, transcript)
}

/// On the device's transcript, or on the host's if that cannot go there or a search has failed.
fn prove<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
    opening: &Opening<'_, SC>,
    prover_config: &MetalProverConfig,
    transcript: &mut TS,
) -> Result<WhirProof<SC>, MetalProverError> {
    match device_transcript::prove(opening, prover_config, transcript)? {
        Some(proof) => Ok(proof),
        None => host_transcript::prove(opening, prover_config.mle_host_log_rows, transcript),
    }
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

#[cfg(test)]
mod tests {
    use openvm_metal_common::{Device, MetalBuffer, MetalContext};
    use openvm_stark_sdk::config::baby_bear_poseidon2::poseidon2_perm;

    use super::*;
    use crate::prelude::SC;
    use crate::{
        commit::{stacked_commit, CommitParams},
        kernels,
        matrix::MetalMatrix,
        selftest::{prover::params, CheckRng},
        transcript::DuplexSpongeMetal,
    };

    /// A device that finds no witness leaves the transcript where it was, and the host's gives the same proof.
    #[test]
    fn a_search_that_fails() -> Result<(), MetalProverError> {
        let context = MetalContext::shared_on(Device::Cpu, &[&kernels::LIBRARY])?;
        let s = &context.stream();
        let mut params = params(2, 6, 2);
        params.whir.folding_pow_bits = 9;
        params.whir.query_phase_pow_bits = 9;
        let mut rng = CheckRng::new(1);
        let cells = MetalBuffer::from_host(s, &rng.fs(3 << 8))?;
        let trace = MetalMatrix::from_buffer(cells, 1 << 8, 3);
        let (_, data) = stacked_commit::<SC>(s, CommitParams::from(&params), &[&trace])?;
        let commits = [WhirCommit {
            ranges: &data.ranges,
            width: data.layout.width(),
            tree: &data.tree,
            kept: data.kept,
        }];
        let u = rng.efs(8);
        let on = |on_device| MetalProverConfig {
            transcript_on_device: Some(on_device),
            ..MetalProverConfig::default()
        };
        let begin = || DuplexSpongeMetal::from(poseidon2_perm().clone()).with_stream(s.clone());
        let next = |mut transcript| FiatShamirTranscript::<SC>::sample(&mut transcript);
        let opening = |candidates| Opening {
            s,
            config: &params.whir,
            shape: CodeShape {
                l_skip: 2,
                log_height: 8,
                log_blowup: params.log_blowup,
            },
            commits: &commits,
            u: &u,
            candidates,
        };
        let prove = |candidates, on_device| {
            let mut transcript = begin();
            let proof = super::prove(&opening(candidates), &on(on_device), &mut transcript)?;
            Ok::<_, MetalProverError>((proof, next(transcript)))
        };
        let fallbacks = || s.counters().total().host_fallbacks;
        let expected = prove(candidates, false)?;
        assert!(prove(candidates, true)? == expected);
        assert!(fallbacks().is_empty());
        assert!(prove(|_| 1, true)? == expected);
        let counted = fallbacks()
            .get("whir")
            .map(|work| (work.times, work.largest));
        assert_eq!(counted, Some((1, 1 << 8)));

        let mut transcript = begin();
        let found = device_transcript::prove(&opening(candidates), &on(true), &mut transcript)?;
        assert!(found.is_some_and(|proof| proof == expected.0));
        let mut transcript = begin();
        assert!(device_transcript::prove(&opening(|_| 1), &on(true), &mut transcript)?.is_none());
        assert_eq!(next(transcript), next(begin()));
        Ok(())
    }
}
