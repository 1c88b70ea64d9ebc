//! The part of a round from its sumcheck to the work before its queries whose challenges the device samples: it is waited for once.
//!
//! The log of the device holds for each variable `s(1), s(2)`, the witness if work is asked for, and `alpha`; then the root as two
//! elements, `z`, the value at `z`, and the witness of the work before queries with another element.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice};
use openvm_stark_backend::FiatShamirTranscript;
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};

use super::{
    tables::{DeviceTables, Partials},
    PHASE,
};
use crate::{
    error::MetalProverError,
    grind::{certain, grind_sponge, likely},
    hash::MerkleTreeMetal,
    kernels,
    params::{TranscriptState, WhirChallengeParams, WhirEvaluateParams, WhirExchangeParams},
    prelude::{Digest, EF, F, SC},
    transcript::replayed,
};

/// Threads of a threadgroup.
const THREADS: usize = 256;
/// Threadgroups that evaluate, at most, and coefficients of one at least, if there are so many.
const MAX_GROUPS: usize = 256;
const MIN_BLOCK: usize = 1 << 10;

/// What the device observes and samples between two reads.
pub(super) struct DeviceMessages {
    state: MetalBuffer<TranscriptState>,
    log: MetalBuffer<EF>,
    /// Elements of the log so far.
    len: usize,
    /// Bits of work for each variable.
    bits: usize,
}

/// The log while it is read: the host's transcript is shown what the device observed.
pub(super) struct Replay<'a, TS> {
    transcript: &'a mut TS,
    log: std::slice::Iter<'a, EF>,
    bits: usize,
}

/// The message of a variable.
pub(super) struct VariableMessage {
    /// The round polynomial at 1 and 2.
    pub evals: [EF; 2],
    pub witness: F,
}

impl DeviceMessages {
    /// Goes on with `sponge`, for at most `k` variables, of `bits` of work each, a commitment, and the work behind it.
    pub fn new(
        s: &CommandStream,
        sponge: TranscriptState,
        k: usize,
        bits: usize,
    ) -> Result<Self, MetalProverError> {
        Ok(Self {
            state: MetalBuffer::from_host(s, &[sponge])?,
            log: MetalBuffer::uninit(s.context(), 4 * k + 6)?,
            len: 0,
            bits,
        })
    }

    /// Binds `k` variables: a dispatch for each, one for its message, two more if work is asked for, and one for the last fold.
    pub fn sumcheck(
        &mut self,
        s: &CommandStream,
        tables: &mut DeviceTables,
        k: usize,
    ) -> Result<(), MetalProverError> {
        let mut best = match self.bits {
            0 => None,
            _ => Some(MetalBuffer::from_host(s, &vec![u32::MAX; k])?),
        };
        for slot in 0..k {
            let Partials { sums, groups } = tables.round_sums(s, self.log.slice(..))?;
            match &mut best {
                None => self.exchange(s, sums.slice(..), groups, 2, 1)?,
                Some(best) => {
                    self.exchange(s, sums.slice(..), groups, 2, 0)?;
                    let candidates = certain(self.bits);
                    grind_sponge(s, &self.state, best, slot, self.bits, candidates)?;
                    self.challenge(s, best, slot)?;
                }
            }
            tables.fold = Some(self.len - 1);
        }
        tables.flush(s, self.log.slice(..))
    }

    /// Sends a root, samples the point, and sends the value there of the polynomial with these coefficients: four dispatches.
    pub fn commit(
        &mut self,
        s: &CommandStream,
        tree: &MerkleTreeMetal<EF>,
        coefficients: &MetalBuffer<EF>,
    ) -> Result<(), MetalProverError> {
        self.exchange(s, tree.root().cast()?, 1, 2, 1)?;
        let len = coefficients.len();
        let block = MIN_BLOCK.max(len / MAX_GROUPS).min(len);
        let groups = len / block;
        let mut partials = MetalBuffer::uninit(s.context(), groups)?;
        let params = WhirEvaluateParams {
            block: block as u32,
            z: (self.len - 1) as u32,
        };
        let grid = Grid::groups(groups as u32, THREADS.min(block) as u32);
        kernels::whir_evaluate(s, grid, coefficients, &self.log, &mut partials, &params)?;
        self.exchange(s, partials.slice(..), groups, 1, 0)
    }

    /// Searches the witness of the `bits` bits of work before queries among so many candidates that it is probably there. The element
    /// behind it in the log is not used: the host samples the queries.
    pub fn query_work(&mut self, s: &CommandStream, bits: usize) -> Result<(), MetalProverError> {
        let mut best = MetalBuffer::from_host(s, &[u32::MAX])?;
        grind_sponge(s, &self.state, &mut best, 0, bits, likely(bits))?;
        self.challenge(s, &best, 0)
    }

    /// Takes the witness in a slot, and samples a challenge behind it.
    fn challenge(
        &mut self,
        s: &CommandStream,
        best: &MetalBuffer<u32>,
        slot: usize,
    ) -> Result<(), MetalProverError> {
        let params = WhirChallengeParams {
            slot: slot as u32,
            at: self.len as u32,
        };
        let grid = Grid::groups(1, 32);
        kernels::whir_challenge(s, grid, best, &mut self.state, &mut self.log, &params)?;
        self.len += 2;
        Ok(())
    }

    /// Observes `sums` sums of each of `groups` threadgroups, added up, and samples so many challenges.
    fn exchange(
        &mut self,
        s: &CommandStream,
        partials: MetalSlice<'_, EF>,
        groups: usize,
        sums: usize,
        samples: usize,
    ) -> Result<(), MetalProverError> {
        let params = WhirExchangeParams {
            groups: groups as u32,
            sums: sums as u32,
            samples: samples as u32,
            at: self.len as u32,
        };
        let grid = Grid::groups(1, THREADS as u32);
        let (state, log) = (&mut self.state, &mut self.log);
        kernels::whir_exchange(s, grid, partials, state, log, &params)?;
        self.len += sums + samples;
        Ok(())
    }

    /// The log, to be read.
    pub fn log(&self) -> MetalSlice<'_, EF> {
        self.log.slice(..self.len)
    }
}

impl<'a, TS: FiatShamirTranscript<SC>> Replay<'a, TS> {
    /// Begins with the first message of a log; `bits` of work for each variable.
    pub fn new(transcript: &'a mut TS, log: &'a [EF], bits: usize) -> Self {
        let log = log.iter();
        Self {
            transcript,
            log,
            bits,
        }
    }

    /// A message of a sumcheck.
    pub fn variable(&mut self) -> Result<VariableMessage, MetalProverError> {
        let evals = [self.next()?, self.next()?];
        for eval in evals {
            self.transcript.observe_ext(eval);
        }
        let mut witness = F::ZERO;
        if self.bits > 0 {
            let found = self.witness()?;
            witness = found.ok_or_else(|| {
                let detail = format!("no witness of {} bits of work", self.bits);
                MetalProverError::internal(PHASE, detail)
            })?;
            if !self.transcript.check_witness(self.bits, witness) {
                return Err(MetalProverError::TranscriptsDiffer { phase: PHASE });
            }
        }
        let _alpha = self.sampled()?;
        Ok(VariableMessage { evals, witness })
    }

    /// Root, point and value of a commitment.
    pub fn commit(&mut self) -> Result<(Digest, EF, EF), MetalProverError> {
        let halves = [self.next()?, self.next()?];
        let words: [&[F]; 2] = halves.each_ref().map(EF::as_basis_coefficients_slice);
        let root = std::array::from_fn(|i| words[i / 4][i % 4]);
        self.transcript.observe_commit(root);
        let z = self.sampled()?;
        let value = self.next()?;
        self.transcript.observe_ext(value);
        Ok((root, z, value))
    }

    /// The witness of the work before queries, if it was among the candidates. The transcript has not observed it yet.
    pub fn query_work(&mut self) -> Result<Option<F>, MetalProverError> {
        let witness = self.witness()?;
        let _unused = self.next()?;
        Ok(witness)
    }

    /// The smallest witness, if one was found. `u32::MAX` stands for none: as a field element it is no candidate.
    fn witness(&mut self) -> Result<Option<F>, MetalProverError> {
        let witness = self.next()?.as_basis_coefficients_slice()[0];
        Ok((witness != F::from_u32(u32::MAX)).then_some(witness))
    }

    fn sampled(&mut self) -> Result<EF, MetalProverError> {
        let sampled = self.transcript.sample_ext();
        replayed(PHASE, sampled, self.next()?)?;
        Ok(sampled)
    }

    fn next(&mut self) -> Result<EF, MetalProverError> {
        let next = self.log.next().copied();
        next.ok_or_else(|| MetalProverError::internal(PHASE, "the log ends early"))
    }
}
