//! WHIR: one opening of all stacked columns at one point (`docs/whir.md`).
//!
//! The prover works on the coefficients of `f` and on dual weights (see `state.rs`), so the messages of
//! the Reed-Solomon codes need no transform and a query adds a geometric sequence to the weights.

mod device_transcript;
mod first_round;
mod queries;
mod state;
mod sumcheck;
mod tables;
mod weights;

use openvm_metal_common::{CommandStream, MemCopyD2D, MemCopyH2D, MetalBuffer};
use openvm_stark_backend::{proof::WhirProof, FiatShamirTranscript, WhirConfig};
use p3_field::{PrimeCharacteristicRing, TwoAdicField};

use self::{
    device_transcript::{DeviceMessages, Replay},
    first_round::FirstRound,
    queries::{GatheredQueries, QueryProofs},
    state::{State, Table},
    sumcheck::{Folded, Sumcheck},
    weights::WeightUpdate,
};
use super::contract::Contraction;
use crate::{
    commit::CodeShape,
    config::MetalProverConfig,
    error::MetalProverError,
    grind::{LIKELY_BITS, MOST_CERTAIN_BITS},
    hash::MerkleTreeMetal,
    kept_codewords::KeptCodewords,
    matrix::MetalMatrix,
    ntt::rs_encode_ext,
    params::TranscriptState,
    prelude::{Digest, EF, F, SC},
    stacked::StackedRange,
    tensor,
    transcript::sponge_for_device,
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

    let mut queries = GatheredQueries::default();
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
        } = prover.round(tables, &u[k..], log_len, domain)?;
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

/// What the prover has sent so far, but for openings, which are read at the end.
#[derive(Default)]
struct Sent {
    sumcheck_polys: Vec<[EF; 2]>,
    codeword_commits: Vec<Digest>,
    ood_values: Vec<EF>,
    folding_witnesses: Vec<F>,
    query_witnesses: Vec<F>,
    final_poly: Option<Vec<EF>>,
}

impl Sent {
    fn into_proof(
        self,
        mu_pow_witness: F,
        opened: QueryProofs,
    ) -> Result<WhirProof<SC>, MetalProverError> {
        Ok(WhirProof {
            mu_pow_witness,
            whir_sumcheck_polys: self.sumcheck_polys,
            codeword_commits: self.codeword_commits,
            ood_values: self.ood_values,
            folding_pow_witnesses: self.folding_witnesses,
            query_phase_pow_witnesses: self.query_witnesses,
            initial_round_opened_rows: opened.initial_rows,
            initial_round_merkle_proofs: opened.initial_paths,
            codeword_opened_values: opened.codeword_values,
            codeword_merkle_proofs: opened.codeword_paths,
            final_poly: self.final_poly.ok_or_else(|| {
                MetalProverError::Parameters("WHIR needs at least one round".into())
            })?,
        })
    }
}

/// The steps of a round, each with its messages and challenges.
struct Prover<'a, TS> {
    s: &'a CommandStream,
    prover_config: &'a MetalProverConfig,
    transcript: &'a mut TS,
    config: &'a WhirConfig,
    sent: Sent,
}

/// What a round has before its queries.
struct RoundEnd {
    folded: Folded,
    /// The tree over the codeword and the out-of-domain point, but for the last round.
    committed: Option<(MerkleTreeMetal<EF>, EF)>,
    /// The smallest witness of the work before queries, if the device found it.
    witness: Option<F>,
}

impl<TS: FiatShamirTranscript<SC> + 'static> Prover<'_, TS> {
    /// The transcript to go on with on the device, if variables ask for so little work that one dispatch tests enough candidates.
    fn sponge(&self) -> Option<TranscriptState> {
        match self.config.folding_pow_bits {
            ..=MOST_CERTAIN_BITS => sponge_for_device(self.s, self.prover_config, self.transcript),
            _ => None,
        }
    }

    /// Tables of at most so many elements, as a logarithm, are finished on the host.
    fn host_log_rows(&self) -> usize {
        match self.sponge() {
            Some(_) => 0,
            None => self.prover_config.mle_host_log_rows,
        }
    }

    /// The sumcheck of a round, then the codeword on a domain of `2^log_domain` points with its out-of-domain value, or the `2^log_len`
    /// coefficients themselves.
    fn round(
        &mut self,
        tables: Sumcheck,
        rest: &[EF],
        log_len: usize,
        log_domain: Option<usize>,
    ) -> Result<RoundEnd, MetalProverError> {
        match self.sponge() {
            Some(sponge) => self.round_on_device(tables, sponge, rest, log_len, log_domain),
            None => self.round_on_host(tables, rest, log_len, log_domain),
        }
    }

    fn round_on_host(
        &mut self,
        mut tables: Sumcheck,
        rest: &[EF],
        log_len: usize,
        log_domain: Option<usize>,
    ) -> Result<RoundEnd, MetalProverError> {
        self.sumcheck(&mut tables)?;
        let folded = tables.finish(self.s, rest)?;
        let committed = match log_domain {
            None => {
                self.send_coefficients(&folded.coefficients)?;
                None
            }
            Some(log_domain) => Some(self.commit(&folded.coefficients, log_len, log_domain)?),
        };
        Ok(RoundEnd {
            folded,
            committed,
            witness: None,
        })
    }

    /// As on the host, with one wait.
    fn round_on_device(
        &mut self,
        mut tables: Sumcheck,
        sponge: TranscriptState,
        rest: &[EF],
        log_len: usize,
        log_domain: Option<usize>,
    ) -> Result<RoundEnd, MetalProverError> {
        let (s, k) = (self.s, self.config.k);
        let bits = self.config.folding_pow_bits;
        let mut variables = 0;
        let mut messages = match &mut tables {
            Sumcheck::Later(State::Device { tables, .. }) => {
                let mut messages = DeviceMessages::new(s, sponge, k, bits)?;
                messages.sumcheck(s, tables, k)?;
                variables = k;
                messages
            }
            // The first sumcheck is over some numbers that the host has.
            _ => {
                self.sumcheck(&mut tables)?;
                let sponge = self.sponge();
                let sponge = sponge.ok_or_else(|| internal("a transcript that was there"))?;
                DeviceMessages::new(s, sponge, k, bits)?
            }
        };
        let folded = tables.finish(s, rest)?;
        let Table::Device(coefficients) = &folded.coefficients else {
            return Err(internal("coefficients on the host"));
        };
        let query_bits = self.config.query_phase_pow_bits;
        let query_work = LIKELY_BITS.contains(&query_bits);
        let mut tree = None;
        if let Some(log_domain) = log_domain {
            let codeword = encode_codeword(s, &folded.coefficients, log_len, log_domain, k)?;
            messages.commit(s, &codeword, coefficients)?;
            tree = Some(codeword);
            if query_work {
                messages.query_work(s, query_bits)?;
            }
        }
        let mut slices = vec![messages.log()];
        if tree.is_none() {
            slices.push(coefficients.slice(..));
        }
        let mut read = s.read_many(&slices)?.into_iter();
        let log = read.next().unwrap_or_default();
        let mut replay = Replay::new(self.transcript, &log, bits);
        for _ in 0..variables {
            let message = replay.variable()?;
            self.sent.sumcheck_polys.push(message.evals);
            self.sent.folding_witnesses.push(message.witness);
        }
        let mut witness = None;
        let committed = match tree {
            None => {
                self.observe_coefficients(read.next().unwrap_or_default());
                None
            }
            Some(tree) => {
                let (root, z, value) = replay.commit()?;
                if query_work {
                    witness = replay.query_work()?;
                }
                self.sent.codeword_commits.push(root);
                self.sent.ood_values.push(value);
                Some((tree, z))
            }
        };
        Ok(RoundEnd {
            folded,
            committed,
            witness,
        })
    }

    /// A proof-of-work witness, which the transcript has absorbed.
    fn grind(&mut self, bits: usize) -> Result<F, MetalProverError> {
        let witness = self.transcript.grind(bits);
        self.s.alive()?;
        Ok(witness)
    }

    /// Binds `k` variables: a message, a witness and a challenge for each.
    fn sumcheck(&mut self, tables: &mut Sumcheck) -> Result<(), MetalProverError> {
        for _ in 0..self.config.k {
            let evals = tables.round_evals(self.s)?;
            for &eval in &evals {
                self.transcript.observe_ext(eval);
            }
            self.sent.sumcheck_polys.push(evals);
            let witness = self.grind(self.config.folding_pow_bits)?;
            self.sent.folding_witnesses.push(witness);
            tables.fold(self.s, self.transcript.sample_ext())?;
        }
        Ok(())
    }

    /// Sends the coefficients themselves, after the last sumcheck.
    fn send_coefficients(&mut self, coefficients: &Table) -> Result<(), MetalProverError> {
        let coefficients = match coefficients {
            Table::Device(c) => c.to_host(self.s)?,
            Table::Host(c) => c.clone(),
        };
        self.observe_coefficients(coefficients);
        Ok(())
    }

    fn observe_coefficients(&mut self, coefficients: Vec<EF>) {
        for &coefficient in &coefficients {
            self.transcript.observe_ext(coefficient);
        }
        self.sent.final_poly = Some(coefficients);
    }

    /// Commits to the codeword on `2^log_domain` points and sends its out-of-domain value: the tree and the point.
    fn commit(
        &mut self,
        coefficients: &Table,
        log_len: usize,
        log_domain: usize,
    ) -> Result<(MerkleTreeMetal<EF>, EF), MetalProverError> {
        let tree = encode_codeword(self.s, coefficients, log_len, log_domain, self.config.k)?;
        let root = tree.root().to_host(self.s)?;
        let root = root.first().copied().unwrap_or_default();
        self.transcript.observe_commit(root);
        self.sent.codeword_commits.push(root);
        let z = self.transcript.sample_ext();
        let value = evaluate(self.s, coefficients, z, log_len)?;
        self.transcript.observe_ext(value);
        self.sent.ood_values.push(value);
        Ok((tree, z))
    }

    /// Leaves to open, of `2^log_leaves`; `witness` is that of the work before, if it is known.
    fn queries(
        &mut self,
        count: usize,
        log_leaves: usize,
        witness: Option<F>,
    ) -> Result<Vec<usize>, MetalProverError> {
        let bits = self.config.query_phase_pow_bits;
        let witness = match witness {
            None => self.grind(bits)?,
            Some(witness) => {
                if !self.transcript.check_witness(bits, witness) {
                    return Err(MetalProverError::TranscriptsDiffer { phase: PHASE });
                }
                witness
            }
        };
        self.sent.query_witnesses.push(witness);
        Ok((0..count)
            .map(|_| self.transcript.sample_bits(log_leaves) as usize)
            .collect())
    }
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

/// Encodes the `2^log_len` coefficients on a domain of `2^log_domain` points and the tree over the codeword, `2^k` rows per query.
fn encode_codeword(
    s: &CommandStream,
    coeffs: &Table,
    log_len: usize,
    log_domain: usize,
    k: usize,
) -> Result<MerkleTreeMetal<EF>, MetalProverError> {
    let mut codeword = MetalBuffer::<EF>::uninit(s.context(), 1 << log_domain)?;
    let message = codeword.slice_mut(0..1 << log_len);
    match coeffs {
        Table::Device(c) => c.copy_to(message, s)?,
        Table::Host(c) => c.copy_to(message, s)?,
    }
    rs_encode_ext(s, &mut codeword, log_len, log_domain - log_len, 1)?;
    let matrix = MetalMatrix::from_buffer(codeword, 1 << log_domain, 1);
    Ok(MerkleTreeMetal::encode(s, matrix, 1 << k)?)
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
    MetalProverError::internal(PHASE, detail)
}
