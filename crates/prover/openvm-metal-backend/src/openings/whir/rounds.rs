//! The rounds: each is a sumcheck, a commitment and queries.

use openvm_metal_common::{CommandStream, MemCopyD2D, MemCopyH2D, MetalBuffer};
use openvm_stark_backend::{proof::WhirProof, FiatShamirTranscript, WhirConfig};
use p3_field::{PrimeCharacteristicRing, TwoAdicField};

use super::{
    first_round::FirstRound,
    opening::{encode_codeword, internal, Opening, Sent},
    queries::OpenedQueries,
    state::{State, Table},
    sumcheck::{Folded, Sumcheck},
    weights::WeightUpdate,
};
use crate::{
    error::MetalProverError,
    hash::{HashScheme, MerkleTreeMetal},
    openings::contract::Contraction,
    prelude::{EF, F},
    tensor,
};

/// Proves the opening. Tables of at most `2^host_log_rows` elements are finished on the host.
pub(super) fn prove<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
    opening: &Opening<'_, SC>,
    host_log_rows: usize,
    transcript: &mut TS,
) -> Result<WhirProof<SC>, MetalProverError> {
    let &Opening {
        s,
        config,
        shape,
        u,
        ..
    } = opening;
    let k = config.k;
    let mut log_len = shape.log_height;
    let mut log_domain = log_len + shape.log_blowup;
    let mut prover = Prover {
        s,
        transcript,
        config,
        sent: Sent::default(),
    };
    prover.sent.mu_pow_witness = prover.grind(config.mu_pow_bits)?;
    let mu = prover.transcript.sample_ext();

    let mut queries = OpenedQueries::default();
    let mut codeword_tree: Option<MerkleTreeMetal<EF, SC>> = None;
    let first = FirstRound::new(opening, mu)?;
    let mut sumcheck = Some(Sumcheck::First(first));
    for (round, round_config) in config.rounds.iter().enumerate() {
        let is_last = round + 1 == config.rounds.len();
        let mut tables = sumcheck
            .take()
            .ok_or_else(|| internal("no table to sum over"))?;
        log_len -= k;
        prover.sumcheck(&mut tables)?;
        let Folded {
            coefficients,
            weights,
            mut terms,
        } = tables.finish(s, &u[k..])?;
        let mut next_tree = None;
        if is_last {
            prover.send_coefficients(&coefficients)?;
        } else {
            let (tree, z) = prover.commit(&coefficients, log_len, log_domain - 1)?;
            terms.push((tensor::power_bits(z, log_len), EF::ONE));
            next_tree = Some(tree);
        }

        let log_leaves = log_domain - k;
        let indices = prover.queries(round_config.num_queries, log_leaves)?;
        let on_device = MetalBuffer::from_host(s, &indices)?;
        queries.open(opening, codeword_tree.as_ref(), &on_device)?;
        codeword_tree = next_tree;

        let gamma = prover.transcript.sample_ext();
        if !is_last {
            if let Some((_, scale)) = terms.last_mut() {
                *scale = gamma;
            }
            let queries = query_points(&indices, log_leaves, gamma);
            let weights = WeightUpdate { terms, queries }.apply(s, weights, log_len)?;
            let state = State::new(s, coefficients, weights, host_log_rows)?;
            sumcheck = Some(Sumcheck::Later(state));
        }
        log_domain -= 1;
    }
    prover.sent.into_proof(queries.read(s)?)
}

/// The points of queries, with their factors `gamma^2, gamma^3, ...`.
fn query_points(indices: &[u32], log_leaves: usize, gamma: EF) -> Vec<(F, EF)> {
    let omega = F::two_adic_generator(log_leaves);
    indices
        .iter()
        .zip(gamma.powers().skip(2))
        .map(|(&index, gamma)| (omega.exp_u64(index.into()), gamma))
        .collect()
}

/// The steps of a round, each with its messages and challenges.
struct Prover<'a, SC: HashScheme, TS> {
    s: &'a CommandStream,
    transcript: &'a mut TS,
    config: &'a WhirConfig,
    sent: Sent<SC>,
}

impl<SC: HashScheme, TS: FiatShamirTranscript<SC>> Prover<'_, SC, TS> {
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
        for &coefficient in &coefficients {
            self.transcript.observe_ext(coefficient);
        }
        self.sent.final_poly = Some(coefficients);
        Ok(())
    }

    /// Commits to the codeword on `2^log_domain` points and sends its out-of-domain value: the tree and the point.
    fn commit(
        &mut self,
        coefficients: &Table,
        log_len: usize,
        log_domain: usize,
    ) -> Result<(MerkleTreeMetal<EF, SC>, EF), MetalProverError> {
        let mut codeword = MetalBuffer::<EF>::uninit(self.s.context(), 1 << log_domain)?;
        let message = codeword.slice_mut(0..1 << log_len);
        match coefficients {
            Table::Device(c) => c.copy_to(message, self.s)?,
            Table::Host(c) => c.copy_to(message, self.s)?,
        }
        let tree = encode_codeword(self.s, codeword, log_len, self.config.k)?;
        let root = tree.read_root(self.s)?;
        self.transcript.observe_commit(root);
        self.sent.codeword_commits.push(root);
        let z = self.transcript.sample_ext();
        let value = evaluate(self.s, coefficients, z, log_len)?;
        self.transcript.observe_ext(value);
        self.sent.ood_values.push(value);
        Ok((tree, z))
    }

    /// Leaves to open, of `2^log_leaves`.
    fn queries(&mut self, count: usize, log_leaves: usize) -> Result<Vec<u32>, MetalProverError> {
        let witness = self.grind(self.config.query_phase_pow_bits)?;
        self.sent.query_witnesses.push(witness);
        let index = |_| self.transcript.sample_bits(log_leaves) as u32;
        Ok((0..count).map(index).collect())
    }
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
