//! The log while it is read: the host's transcript is shown what the device observed.

use openvm_stark_backend::{FiatShamirTranscript, WhirConfig};
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};

use super::super::opening::{Sent, PHASE};
use crate::{
    error::MetalProverError,
    prelude::{D_EF, EF, F, SC},
    transcript::replayed,
};

/// Shows the transcript all messages but those of the last queries, of which `log` has the elements and `drawn` the words: what was
/// sent, if all witnesses were found.
pub(super) fn replay<TS: FiatShamirTranscript<SC>>(
    transcript: &mut TS,
    config: &WhirConfig,
    log: Vec<EF>,
    drawn: Vec<F>,
    coefficients: Vec<EF>,
) -> Result<Option<Sent>, MetalProverError> {
    let mut replay = Replay {
        transcript,
        log: log.into_iter(),
        drawn: drawn.into_iter(),
    };
    let mut sent = Sent::default();
    let Some(witness) = replay.challenge(config.mu_pow_bits)? else {
        return Ok(None);
    };
    sent.mu_pow_witness = witness;
    for (round, round_config) in config.rounds.iter().enumerate() {
        for _ in 0..config.k {
            let evals = [replay.observe()?, replay.observe()?];
            let Some(witness) = replay.challenge(config.folding_pow_bits)? else {
                return Ok(None);
            };
            sent.sumcheck_polys.push(evals);
            sent.folding_witnesses.push(witness);
        }
        if round + 1 == config.rounds.len() {
            break;
        }
        let halves = [replay.next()?, replay.next()?];
        let words: [&[F]; 2] = halves.each_ref().map(EF::as_basis_coefficients_slice);
        let root = std::array::from_fn(|i| words[i / 4][i % 4]);
        replay.transcript.observe_commit(root);
        replay.sampled()?;
        sent.codeword_commits.push(root);
        sent.ood_values.push(replay.observe()?);
        let bits = config.query_phase_pow_bits;
        let Some(witness) = replay.draw(round_config.num_queries, bits)? else {
            return Ok(None);
        };
        sent.query_witnesses.push(witness);
    }
    for &coefficient in &coefficients {
        transcript.observe_ext(coefficient);
    }
    sent.final_poly = Some(coefficients);
    Ok(Some(sent))
}

/// Shows the transcript what was drawn for `count` queries behind `bits` bits of work: the witness, if it was found.
pub(super) fn replay_queries<TS: FiatShamirTranscript<SC>>(
    transcript: &mut TS,
    count: usize,
    bits: usize,
    drawn: Vec<F>,
) -> Result<Option<F>, MetalProverError> {
    let mut replay = Replay {
        transcript,
        log: Vec::new().into_iter(),
        drawn: drawn.into_iter(),
    };
    replay.draw(count, bits)
}

struct Replay<'a, TS> {
    transcript: &'a mut TS,
    log: std::vec::IntoIter<EF>,
    drawn: std::vec::IntoIter<F>,
}

impl<TS: FiatShamirTranscript<SC>> Replay<'_, TS> {
    /// An element that the device observed.
    fn observe(&mut self) -> Result<EF, MetalProverError> {
        let value = self.next()?;
        self.transcript.observe_ext(value);
        Ok(value)
    }

    /// A challenge behind `bits` bits of work: the witness, if it was found.
    fn challenge(&mut self, bits: usize) -> Result<Option<F>, MetalProverError> {
        let witness = self.next()?.as_basis_coefficients_slice()[0];
        if !self.witness(bits, witness)? {
            return Ok(None);
        }
        self.sampled()?;
        Ok(Some(witness))
    }

    /// The words of `count` queries and a challenge behind `bits` bits of work: the witness, if it was found.
    fn draw(&mut self, count: usize, bits: usize) -> Result<Option<F>, MetalProverError> {
        let witness = self.word()?;
        if !self.witness(bits, witness)? {
            return Ok(None);
        }
        if bits > 0 {
            let _tested = self.word()?;
        }
        for _ in 0..count + D_EF {
            let sampled = self.transcript.sample();
            replayed(PHASE, sampled.into(), self.word()?.into())?;
        }
        Ok(Some(witness))
    }

    /// Shows the transcript a witness. Not if none was found: `u32::MAX` stands for that, and as a field element it is no candidate.
    fn witness(&mut self, bits: usize, witness: F) -> Result<bool, MetalProverError> {
        if bits > 0 && witness == F::from_u32(u32::MAX) {
            return Ok(false);
        }
        match self.transcript.check_witness(bits, witness) {
            true => Ok(true),
            false => Err(MetalProverError::TranscriptsDiffer { phase: PHASE }),
        }
    }

    /// A challenge that the device sampled.
    fn sampled(&mut self) -> Result<(), MetalProverError> {
        let sampled = self.transcript.sample_ext();
        replayed(PHASE, sampled, self.next()?)
    }

    fn next(&mut self) -> Result<EF, MetalProverError> {
        self.log.next().ok_or_else(ends_early)
    }

    fn word(&mut self) -> Result<F, MetalProverError> {
        self.drawn.next().ok_or_else(ends_early)
    }
}

fn ends_early() -> MetalProverError {
    MetalProverError::internal(PHASE, "the log ends early")
}
