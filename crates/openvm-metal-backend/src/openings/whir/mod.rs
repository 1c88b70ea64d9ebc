//! WHIR: one opening of all stacked columns at one point (`docs/whir.md`).
//!
//! The prover works on the coefficients of `f` and on dual weights (see `state.rs`), so the messages of
//! the Reed-Solomon codes need no transform and a query adds a geometric sequence to the weights.

mod first_round;
mod queries;
mod state;
mod weights;

pub(crate) use self::queries::columns_encoded_again;

use openvm_metal_common::{CommandStream, MemCopyD2D, MemCopyH2D, MetalBuffer};
use openvm_stark_backend::{proof::WhirProof, FiatShamirTranscript, WhirConfig};
use p3_field::{PrimeCharacteristicRing, TwoAdicField};

use self::{
    first_round::FirstRound,
    queries::GatheredQueries,
    state::{State, Table},
    weights::WeightUpdate,
};
use super::contract::Contraction;
use crate::{
    commit::CodeShape,
    error::MetalProverError,
    hash::MerkleTreeMetal,
    matrix::MetalMatrix,
    ntt::rs_encode_ext,
    prelude::{EF, F, SC},
    stacked::StackedRange,
    tensor,
};

/// One commitment as WHIR sees it.
#[derive(Clone, Copy)]
pub struct WhirCommit<'a> {
    /// The cells of the stacked matrix.
    pub ranges: &'a [StackedRange],
    /// Its columns.
    pub width: usize,
    /// The tree over its codewords.
    pub tree: &'a MerkleTreeMetal<F>,
}

/// Proves the opening of all stacked columns at `u` (`log_height` coordinates).
///
/// The bytes are those of the reference's `prove_whir_opening`. Tables of at most `2^host_log_rows`
/// elements are finished on the host.
#[allow(clippy::too_many_arguments)]
pub fn prove_whir<TS: FiatShamirTranscript<SC>>(
    s: &CommandStream,
    transcript: &mut TS,
    l_skip: usize,
    log_blowup: usize,
    config: &WhirConfig,
    commits: &[WhirCommit<'_>],
    u: &[EF],
    host_log_rows: usize,
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

    let mu_pow_witness = transcript.grind(config.mu_pow_bits);
    s.alive()?;
    let mu = transcript.sample_ext();

    let mut whir_sumcheck_polys = Vec::with_capacity(config.num_sumcheck_rounds());
    let mut folding_pow_witnesses = Vec::with_capacity(config.num_sumcheck_rounds());
    let mut query_phase_pow_witnesses = Vec::with_capacity(config.num_whir_rounds());
    let mut codeword_commits = Vec::new();
    let mut ood_values = Vec::new();
    let mut final_poly = None;
    let mut queries = GatheredQueries::default();
    let mut codeword_tree: Option<MerkleTreeMetal<EF>> = None;
    let mut state = None;
    let mut first_round = Some(FirstRound::new(s, l_skip, k, commits, log_len, mu, u)?);

    for (round, round_config) in config.rounds.iter().enumerate() {
        let is_last = round + 1 == config.rounds.len();
        for _ in 0..k {
            let evals = match (&first_round, &mut state) {
                (Some(first), _) => first.round_evals(),
                (None, Some(state)) => State::round_evals(state, s)?,
                (None, None) => return Err(internal("no table to sum over")),
            };
            for &eval in &evals {
                transcript.observe_ext(eval);
            }
            whir_sumcheck_polys.push(evals);
            folding_pow_witnesses.push(transcript.grind(config.folding_pow_bits));
            s.alive()?;
            let alpha = transcript.sample_ext();
            match (&mut first_round, &mut state) {
                (Some(first), _) => first.fold(alpha),
                (None, Some(state)) => state.fold(s, alpha)?,
                (None, None) => {}
            }
        }
        // `g = f(alpha, .)`: its coefficients, and what its weights are so far.
        let mut terms = Vec::new();
        let (c, w) = match (first_round.take(), state.take()) {
            (Some(first), _) => {
                let (c, scale) = first.finish(s)?;
                terms.push((tensor::eq_bits(&u[k..]), scale));
                (Table::Device(c), None)
            }
            (None, Some(state)) => {
                let (c, w) = State::into_tables(state, s)?;
                (c, Some(w))
            }
            (None, None) => return Err(internal("no table to fold")),
        };
        log_len -= k;

        let mut next_tree = None;
        if is_last {
            let coeffs = match &c {
                Table::Device(c) => c.to_host(s)?,
                Table::Host(c) => c.clone(),
            };
            for &coeff in &coeffs {
                transcript.observe_ext(coeff);
            }
            final_poly = Some(coeffs);
        } else {
            let (tree, root) = commit_codeword(s, &c, log_len, log_domain - 1, k)?;
            transcript.observe_commit(root);
            codeword_commits.push(root);
            next_tree = Some(tree);
            let z = transcript.sample_ext();
            let value = evaluate(s, &c, z, log_len)?;
            transcript.observe_ext(value);
            ood_values.push(value);
            terms.push((tensor::power_bits(z, log_len), EF::ONE));
        }

        query_phase_pow_witnesses.push(transcript.grind(config.query_phase_pow_bits));
        s.alive()?;
        let indices: Vec<usize> = (0..round_config.num_queries)
            .map(|_| transcript.sample_bits(log_domain - k) as usize)
            .collect();
        match &codeword_tree {
            None => queries.open_initial(s, commits, shape, &indices)?,
            Some(tree) => queries.open_codeword(s, tree, &indices)?,
        }
        codeword_tree = next_tree;

        let gamma = transcript.sample_ext();
        if !is_last {
            if let Some((_, scale)) = terms.last_mut() {
                *scale = gamma;
            }
            let omega = F::two_adic_generator(log_domain - k);
            let points = indices
                .iter()
                .zip(gamma.powers().skip(2))
                .map(|(&index, gamma)| (omega.exp_u64(index as u64), gamma))
                .collect();
            let w = WeightUpdate {
                terms,
                queries: points,
            }
            .apply(s, w, log_len)?;
            state = Some(State::new(s, c, w, host_log_rows)?);
        }
        log_domain -= 1;
    }

    let proofs = queries.read(s)?;
    Ok(WhirProof {
        mu_pow_witness,
        whir_sumcheck_polys,
        codeword_commits,
        ood_values,
        folding_pow_witnesses,
        query_phase_pow_witnesses,
        initial_round_opened_rows: proofs.initial_rows,
        initial_round_merkle_proofs: proofs.initial_paths,
        codeword_opened_values: proofs.codeword_values,
        codeword_merkle_proofs: proofs.codeword_paths,
        final_poly: final_poly
            .ok_or_else(|| MetalProverError::Parameters("WHIR needs at least one round".into()))?,
    })
}

/// Encodes the `2^log_len` coefficients on a domain of `2^log_domain` points and commits to the codeword,
/// `2^k` rows per query: one wait.
fn commit_codeword(
    s: &CommandStream,
    coeffs: &Table,
    log_len: usize,
    log_domain: usize,
    k: usize,
) -> Result<(MerkleTreeMetal<EF>, crate::prelude::Digest), MetalProverError> {
    let mut codeword = MetalBuffer::<EF>::uninit(s.context(), 1 << log_domain)?;
    let message = codeword.slice_mut(0..1 << log_len);
    match coeffs {
        Table::Device(c) => c.copy_to(message, s)?,
        Table::Host(c) => c.copy_to(message, s)?,
    }
    rs_encode_ext(s, &mut codeword, log_len, log_domain - log_len, 1)?;
    let matrix = MetalMatrix::from_buffer(codeword, 1 << log_domain, 1);
    Ok(MerkleTreeMetal::new(s, matrix, 1 << k)?)
}

/// The polynomial with these coefficients at `z`: at most one wait.
fn evaluate(
    s: &CommandStream,
    coeffs: &Table,
    z: EF,
    log_len: usize,
) -> Result<EF, MetalProverError> {
    let bits = tensor::power_bits(z, log_len);
    let value = match coeffs {
        Table::Host(c) => tensor::contract(c, 0, &bits),
        Table::Device(c) => {
            let sums = Contraction::encode(s, &c.as_slice(), &[0], 0, &bits)?;
            let read = s.read_many(&sums.slices(c.as_slice()))?;
            sums.finish(&read).pop().unwrap_or_default()
        }
    };
    value
        .first()
        .copied()
        .ok_or_else(|| internal("no coefficient to evaluate"))
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
    MetalProverError::internal("openings.whir", detail)
}
