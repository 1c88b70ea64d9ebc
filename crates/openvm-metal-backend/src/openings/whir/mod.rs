//! WHIR: one opening of all stacked columns at one point (`docs/whir.md`).
//!
//! The prover works on the coefficients of `f` and on dual weights (see `state.rs`), so the messages of
//! the Reed-Solomon codes need no transform and a query adds a geometric sequence to the weights.

mod device_transcript;
mod first_round;
mod queries;
mod rounds;
mod state;
mod sumcheck;
mod tables;
mod weights;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{proof::WhirProof, FiatShamirTranscript, WhirConfig};
use p3_field::{PrimeCharacteristicRing, TwoAdicField};

use self::{
    first_round::FirstRound,
    queries::OpenedQueries,
    rounds::{Prover, RoundEnd, Sent},
    state::State,
    sumcheck::{Folded, Sumcheck},
    weights::WeightUpdate,
};
use crate::{
    commit::CodeShape,
    config::MetalProverConfig,
    error::MetalProverError,
    hash::MerkleTreeMetal,
    kept_codewords::KeptCodewords,
    prelude::{EF, F, SC},
    stacked::StackedRange,
    tensor,
};

const PHASE: &str = "openings.whir";

/// One commitment as WHIR sees it.
#[derive(Clone, Copy)]
pub struct WhirCommit<'a> {
    /// The cells of the stacked matrix.
    pub ranges: &'a [StackedRange],
    /// Its columns.
    pub width: usize,
    /// The tree over its codewords.
    pub tree: &'a MerkleTreeMetal<F>,
    /// What of the codewords the tree has.
    pub kept: KeptCodewords,
}

/// Proves the opening of all stacked columns at `u` (`log_height` coordinates).
///
/// The bytes are those of the reference's `prove_whir_opening`. On the host's transcript, tables of at most `2^mle_host_log_rows`
/// elements are finished on the host.
#[allow(clippy::too_many_arguments)]
pub fn prove_whir<TS: FiatShamirTranscript<SC> + 'static>(
    s: &CommandStream,
    prover_config: &MetalProverConfig,
    transcript: &mut TS,
    l_skip: usize,
    log_blowup: usize,
    config: &WhirConfig,
    commits: &[WhirCommit<'_>],
    u: &[EF],
) -> Result<WhirProof<SC>, MetalProverError> {
    let _stage = s.stage("prover.openings.whir");
    let mut log_len = u.len();
    let k = config.k;
    let mut log_domain = log_len + log_blowup;
    check_trees(commits, log_domain, k)?;
    let shape = CodeShape {
        l_skip,
        log_height: log_len,
        log_blowup,
    };
    let mut prover = Prover {
        s,
        prover_config,
        transcript,
        config,
        sent: Sent::default(),
    };
    let mu_pow_witness = prover.grind(config.mu_pow_bits)?;
    let mu = prover.transcript.sample_ext();

    let mut queries = OpenedQueries::default();
    let mut codeword_tree: Option<MerkleTreeMetal<EF>> = None;
    let first = FirstRound::new(s, l_skip, k, commits, log_len, mu, u)?;
    let mut sumcheck = Some(Sumcheck::First(first));
    for (round, round_config) in config.rounds.iter().enumerate() {
        let is_last = round + 1 == config.rounds.len();
        let tables = sumcheck
            .take()
            .ok_or_else(|| internal("no table to sum over"))?;
        log_len -= k;
        // The codeword is on this domain; none is sent in the last round.
        let domain = (!is_last).then_some(log_domain - 1);
        let RoundEnd {
            folded,
            committed: next,
            witness,
        } = prover.round(tables, &u[k..], log_len, domain, &mut queries)?;
        let Folded {
            coefficients,
            weights,
            mut terms,
        } = folded;
        let next_tree = next.map(|(tree, z)| {
            terms.push((tensor::power_bits(z, log_len), EF::ONE));
            tree
        });

        let indices = prover.queries(round_config.num_queries, log_domain - k, witness)?;
        match &codeword_tree {
            None => queries.open_initial(s, commits, shape, &indices)?,
            Some(tree) => queries.open_codeword(s, tree, &indices)?,
        }
        codeword_tree = next_tree;

        let gamma = prover.transcript.sample_ext();
        if !is_last {
            if let Some((_, scale)) = terms.last_mut() {
                *scale = gamma;
            }
            let queries = query_points(&indices, log_domain - k, gamma);
            let weights = WeightUpdate { terms, queries }.apply(s, weights, log_len)?;
            let state = State::new(s, coefficients, weights, prover.host_log_rows())?;
            sumcheck = Some(Sumcheck::Later(state));
        }
        log_domain -= 1;
    }
    prover.sent.into_proof(mu_pow_witness, queries.read(s)?)
}

/// The points of queries, with their factors `gamma^2, gamma^3, ...`.
fn query_points(indices: &[usize], log_leaves: usize, gamma: EF) -> Vec<(F, EF)> {
    let omega = F::two_adic_generator(log_leaves);
    indices
        .iter()
        .zip(gamma.powers().skip(2))
        .map(|(&index, gamma)| (omega.exp_u64(index as u64), gamma))
        .collect()
}

/// All trees must be over the same number of rows.
fn check_trees(
    commits: &[WhirCommit<'_>],
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

fn internal(detail: &str) -> MetalProverError {
    MetalProverError::internal(PHASE, detail)
}
