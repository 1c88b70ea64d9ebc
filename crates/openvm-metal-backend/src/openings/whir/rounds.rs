//! The steps of a round, each with its messages and challenges: on the host's transcript, or on the device's.

use openvm_metal_common::{CommandStream, MemCopyD2D, MemCopyH2D, MetalBuffer};
use openvm_stark_backend::{proof::WhirProof, FiatShamirTranscript, WhirConfig};

use super::{
    device_transcript::{DeviceMessages, Replay},
    internal,
    queries::{OpenedQueries, QueryProofs},
    state::{State, Table},
    sumcheck::{Folded, Sumcheck},
    PHASE,
};
use crate::{
    config::MetalProverConfig,
    error::MetalProverError,
    grind::{LIKELY_BITS, MOST_CERTAIN_BITS},
    hash::{MerkleCell, MerkleTreeMetal},
    matrix::MetalMatrix,
    ntt::rs_encode_ext,
    openings::contract::Contraction,
    params::TranscriptState,
    prelude::{Digest, EF, F, SC},
    tensor,
    transcript::sponge_for_device,
};

/// What the prover has sent so far, but for openings ([`OpenedQueries`]).
#[derive(Default)]
pub(super) struct Sent {
    sumcheck_polys: Vec<[EF; 2]>,
    codeword_commits: Vec<Digest>,
    ood_values: Vec<EF>,
    folding_witnesses: Vec<F>,
    query_witnesses: Vec<F>,
    final_poly: Option<Vec<EF>>,
}

impl Sent {
    pub fn into_proof(
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
pub(super) struct Prover<'a, TS> {
    pub s: &'a CommandStream,
    pub prover_config: &'a MetalProverConfig,
    pub transcript: &'a mut TS,
    pub config: &'a WhirConfig,
    pub sent: Sent,
}

/// What a round has before its queries.
pub(super) struct RoundEnd {
    pub folded: Folded,
    /// The tree over the codeword and the out-of-domain point, but for the last round.
    pub committed: Option<(MerkleTreeMetal<EF>, EF)>,
    /// The smallest witness of the work before queries, if the device found it.
    pub witness: Option<F>,
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
    pub fn host_log_rows(&self) -> usize {
        match self.sponge() {
            Some(_) => 0,
            None => self.prover_config.mle_host_log_rows,
        }
    }

    /// The sumcheck of a round, then the codeword on a domain of `2^log_domain` points with its out-of-domain value, or the `2^log_len`
    /// coefficients themselves. What was opened in the round before is read with its messages if those are read at once.
    pub fn round(
        &mut self,
        tables: Sumcheck,
        rest: &[EF],
        log_len: usize,
        log_domain: Option<usize>,
        opened: &mut OpenedQueries,
    ) -> Result<RoundEnd, MetalProverError> {
        match self.sponge() {
            Some(sponge) => self.round_on_device(tables, sponge, rest, log_len, log_domain, opened),
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
        opened: &mut OpenedQueries,
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
        let mut slices = vec![messages.log().cast()?];
        if tree.is_none() {
            slices.push(coefficients.slice(..).cast()?);
        }
        slices.extend(opened.slices()?);
        let mut read = s.read_many::<F>(&slices)?.into_iter();
        let log = EF::from_words(read.next().unwrap_or_default());
        let last = tree.is_none().then(|| read.next().unwrap_or_default());
        opened.take(read.collect());
        let mut replay = Replay::new(self.transcript, &log, bits);
        for _ in 0..variables {
            let message = replay.variable()?;
            self.sent.sumcheck_polys.push(message.evals);
            self.sent.folding_witnesses.push(message.witness);
        }
        let mut witness = None;
        let committed = match tree {
            None => {
                self.observe_coefficients(EF::from_words(last.unwrap_or_default()));
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
    pub fn grind(&mut self, bits: usize) -> Result<F, MetalProverError> {
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
    pub fn queries(
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
