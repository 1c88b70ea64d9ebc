//! The log while it is read: the host's transcript is shown what the device observed.

use std::marker::PhantomData;

use openvm_stark_backend::{FiatShamirTranscript, WhirConfig};
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};

use super::super::opening::{Sent, PHASE};
use crate::{
    error::MetalProverError,
    hash::HashScheme,
    prelude::{D_EF, EF, F},
    transcript::replayed,
};

/// Shows the transcript all messages but those of the last queries, of which `log` has the elements and `drawn` the words: what was
/// sent, if all witnesses were found.
pub(super) fn replay<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
    transcript: &mut TS,
    config: &WhirConfig,
    log: Vec<EF>,
    drawn: Vec<F>,
    coefficients: Vec<EF>,
) -> Result<Option<Sent<SC>>, MetalProverError> {
    let mut replay = Replay {
        scheme: PhantomData,
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
        let root = SC::digests(&words.concat()).first().copied();
        let root = root.ok_or_else(ends_early)?;
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
pub(super) fn replay_queries<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
    transcript: &mut TS,
    count: usize,
    bits: usize,
    drawn: Vec<F>,
) -> Result<Option<F>, MetalProverError> {
    let mut replay = Replay {
        scheme: PhantomData,
        transcript,
        log: Vec::new().into_iter(),
        drawn: drawn.into_iter(),
    };
    replay.draw(count, bits)
}

struct Replay<'a, SC, TS> {
    scheme: PhantomData<SC>,
    transcript: &'a mut TS,
    log: std::vec::IntoIter<EF>,
    drawn: std::vec::IntoIter<F>,
}

impl<SC: HashScheme, TS: FiatShamirTranscript<SC>> Replay<'_, SC, TS> {
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

#[cfg(test)]
mod tests {
    use openvm_stark_sdk::config::baby_bear_poseidon2::{default_duplex_sponge, DuplexSponge};

    use super::*;
    use crate::prelude::SC;
    use crate::selftest::{prover::params, CheckRng};

    /// Words that a device has sent, and those of its last queries.
    #[derive(Clone, Default)]
    struct Device {
        log: Vec<EF>,
        drawn: Vec<F>,
        coefficients: Vec<EF>,
        last: Vec<F>,
    }

    /// A device whose transcript is the host's.
    struct Recorder {
        transcript: DuplexSponge,
        rng: CheckRng,
        device: Device,
        /// The search for a witness whose result does not have the bits, if one is wrong: searches are counted from 0.
        wrong: Option<usize>,
        searches: usize,
    }

    impl Recorder {
        fn observe(&mut self) {
            let value = self.rng.ef();
            FiatShamirTranscript::<SC>::observe_ext(&mut self.transcript, value);
            self.device.log.push(value);
        }

        fn sampled(&mut self) {
            let value = FiatShamirTranscript::<SC>::sample_ext(&mut self.transcript);
            self.device.log.push(value);
        }

        /// A witness that the transcript has absorbed.
        fn grind(&mut self, bits: usize) -> F {
            let search = self.searches;
            self.searches += 1;
            if bits == 0 || self.wrong != Some(search) {
                return FiatShamirTranscript::<SC>::grind(&mut self.transcript, bits);
            }
            let before = self.transcript.clone();
            let mut candidates = (0..).map(F::from_u32);
            candidates
                .find(|&candidate| {
                    self.transcript = before.clone();
                    let transcript = &mut self.transcript;
                    !FiatShamirTranscript::<SC>::check_witness(transcript, bits, candidate)
                })
                .expect("a candidate without the bits")
        }

        fn challenge(&mut self, bits: usize) {
            let witness = self.grind(bits);
            self.device.log.push(witness.into());
            self.sampled();
        }

        /// The witness, a word that the test of the work sampled, and those that are drawn.
        fn draw(&mut self, count: usize, bits: usize) -> Vec<F> {
            let witness = self.grind(bits);
            let mut words = vec![witness, F::ZERO];
            let sample = |_| FiatShamirTranscript::<SC>::sample(&mut self.transcript);
            words.extend((0..count + D_EF).map(sample));
            words
        }
    }

    fn record(config: &WhirConfig) -> Device {
        record_with(config, None).0
    }

    /// The words of a device, and how many witnesses it searched; that of search `wrong` lacks the bits.
    fn record_with(config: &WhirConfig, wrong: Option<usize>) -> (Device, usize) {
        let mut recorder = Recorder {
            transcript: default_duplex_sponge(),
            rng: CheckRng::new(1),
            device: Device::default(),
            wrong,
            searches: 0,
        };
        recorder.challenge(config.mu_pow_bits);
        let bits = config.query_phase_pow_bits;
        for (round, of_round) in config.rounds.iter().enumerate() {
            for _ in 0..config.k {
                recorder.observe();
                recorder.observe();
                recorder.challenge(config.folding_pow_bits);
            }
            if round + 1 == config.rounds.len() {
                let coefficients = recorder.rng.efs(4);
                for &coefficient in &coefficients {
                    let transcript = &mut recorder.transcript;
                    FiatShamirTranscript::<SC>::observe_ext(transcript, coefficient);
                }
                recorder.device.coefficients = coefficients;
                recorder.device.last = recorder.draw(of_round.num_queries, bits);
                break;
            }
            // A root is two elements of the log.
            let root: [F; 8] = std::array::from_fn(|_| recorder.rng.f());
            FiatShamirTranscript::<SC>::observe_commit(&mut recorder.transcript, root);
            for half in root.chunks_exact(4) {
                let half = EF::from_basis_coefficients_fn(|i| half[i]);
                recorder.device.log.push(half);
            }
            recorder.sampled();
            recorder.observe();
            let words = recorder.draw(of_round.num_queries, bits);
            recorder.device.drawn.extend(words);
        }
        (recorder.device, recorder.searches)
    }

    /// Compares the words of a device with the host's; nothing if a search found nothing.
    fn accepts(config: &WhirConfig, device: Device) -> Result<Option<F>, MetalProverError> {
        let mut transcript = default_duplex_sponge();
        let Device {
            log,
            drawn,
            coefficients,
            last,
        } = device;
        if replay::<SC, DuplexSponge>(&mut transcript, config, log, drawn, coefficients)?.is_none()
        {
            return Ok(None);
        }
        let count = config.rounds.last().map_or(0, |round| round.num_queries);
        replay_queries::<SC, _>(&mut transcript, count, config.query_phase_pow_bits, last)
    }

    fn config() -> WhirConfig {
        let mut config = params(2, 6, 5).whir;
        assert!(config.rounds.len() > 1, "no codeword is committed");
        (config.mu_pow_bits, config.query_phase_pow_bits) = (6, 7);
        config
    }

    /// The host's transcript notices each difference on the device, observed or sampled.
    #[test]
    fn every_element_is_compared() {
        let config = config();
        let device = record(&config);
        assert!(matches!(accepts(&config, device.clone()), Ok(Some(_))));
        let differs = |what: String, change: &dyn Fn(&mut Device)| {
            let mut device = device.clone();
            change(&mut device);
            let error = accepts(&config, device).expect_err(&what);
            let same = matches!(error, MetalProverError::TranscriptsDiffer { phase: PHASE });
            assert!(same, "{what}: {error}");
        };
        for at in 0..device.log.len() {
            differs(format!("log {at}"), &|device| device.log[at] += EF::ONE);
        }
        for at in 0..device.coefficients.len() {
            differs(format!("coefficient {at}"), &|device| {
                device.coefficients[at] += EF::ONE;
            });
        }
        // The second word of a draw is what the test of the work sampled: the host tests the witness itself.
        let mut starts = Vec::new();
        for of_round in &config.rounds[..config.rounds.len() - 1] {
            let next = starts.last().map_or(0, |&(_, end)| end);
            starts.push((next, next + 2 + of_round.num_queries + D_EF));
        }
        for (start, end) in starts {
            for at in (start..end).filter(|&at| at != start + 1) {
                differs(format!("word {at}"), &|device| device.drawn[at] += F::ONE);
            }
        }
        for at in (0..device.last.len()).filter(|&at| at != 1) {
            differs(format!("last {at}"), &|device| device.last[at] += F::ONE);
        }
    }

    /// A witness without the bits is refused, also if all that the device sampled afterwards follows from it.
    #[test]
    fn a_witness_without_its_bits_is_refused() {
        let mut config = config();
        config.folding_pow_bits = 5;
        let (_, searches) = record_with(&config, None);
        for wrong in 0..searches {
            let (device, _) = record_with(&config, Some(wrong));
            let error = accepts(&config, device).expect_err("a witness without its bits");
            let same = matches!(error, MetalProverError::TranscriptsDiffer { phase: PHASE });
            assert!(same, "search {wrong}: {error}");
        }
    }

    /// A log that is cut off is an error, and a search that found nothing is none.
    #[test]
    fn short_logs_and_missing_witnesses() {
        let config = config();
        let device = record(&config);
        let cuts: [fn(&mut Device); 3] = [
            |device| device.log.truncate(device.log.len() - 1),
            |device| device.drawn.truncate(device.drawn.len() - 1),
            |device| device.last.truncate(device.last.len() - 1),
        ];
        for cut in cuts {
            let mut device = device.clone();
            cut(&mut device);
            let error = accepts(&config, device).expect_err("a log that is cut off");
            assert!(error.to_string().contains("ends early"), "{error}");
        }
        let none = F::from_u32(u32::MAX);
        let missing: [fn(&mut Device, F); 4] = [
            |device, none| device.log[0] = none.into(),
            |device, none| device.log[4] = none.into(),
            |device, none| device.drawn[0] = none,
            |device, none| device.last[0] = none,
        ];
        for set in missing {
            let mut device = device.clone();
            set(&mut device, none);
            assert!(matches!(accepts(&config, device), Ok(None)));
        }
    }
}
