//! The rounds over the hypercube when all messages are sent, which on the device's transcript the host has not read yet.

use openvm_metal_common::{MetalBuffer, MetalSlice};
use openvm_stark_backend::FiatShamirTranscript;

use super::inputs::RoundMessages;
use crate::{
    constraints::sums::DevicePoint, error::MetalProverError, hash::HashScheme, prelude::EF,
    transcript::replayed,
};

const PHASE: &str = "constraints";

/// All rounds.
pub struct SentRounds {
    /// The device's log, or the challenges alone.
    log: MetalBuffer<EF>,
    /// Elements of the log for each round, of which the last is its challenge.
    section: usize,
    /// Messages that the host knows.
    messages: Option<RoundMessages>,
}

impl SentRounds {
    /// Rounds of the host's transcript, whose challenges are on the device too.
    pub(super) fn of_host(messages: RoundMessages, challenges: MetalBuffer<EF>) -> Self {
        Self {
            log: challenges,
            section: 1,
            messages: Some(messages),
        }
    }

    /// Rounds of the device's transcript.
    pub(super) fn of_device(log: MetalBuffer<EF>, section: usize) -> Self {
        Self {
            log,
            section,
            messages: None,
        }
    }

    /// The challenges of all rounds.
    pub fn point(&self) -> DevicePoint<'_> {
        DevicePoint {
            elements: self.log.slice(self.section - 1..),
            stride: self.section,
        }
    }

    /// Slice that the host has to read.
    pub fn unread(&self) -> Option<MetalSlice<'_, EF>> {
        self.messages.is_none().then(|| self.log.slice(..))
    }

    /// The messages, from what was read; the host's transcript goes to where the device's is.
    ///
    /// # Errors
    /// [`MetalProverError::TranscriptsDiffer`].
    pub fn finish<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
        self,
        transcript: &mut TS,
        read: &[EF],
    ) -> Result<RoundMessages, MetalProverError> {
        if let Some(messages) = self.messages {
            return Ok(messages);
        }
        let mut messages = RoundMessages::default();
        for of_round in read.chunks_exact(self.section) {
            let (evals, r) = of_round.split_at(self.section - 1);
            for &eval in evals {
                transcript.observe_ext(eval);
            }
            let sampled = transcript.sample_ext();
            replayed(PHASE, sampled, r[0])?;
            messages.polys.push(evals.to_vec());
            messages.challenges.push(sampled);
        }
        Ok(messages)
    }
}

#[cfg(test)]
mod tests {
    use openvm_metal_common::{Device, MetalContext};
    use openvm_stark_sdk::config::baby_bear_poseidon2::{default_duplex_sponge, DuplexSponge};
    use p3_field::PrimeCharacteristicRing;

    use super::*;
    use crate::prelude::SC;
    use crate::{kernels::LIBRARY, selftest::CheckRng};

    /// Elements of a round: two values and the challenge.
    const SECTION: usize = 3;

    /// The host's transcript notices each difference of a round on the device, observed or sampled.
    #[test]
    fn every_element_of_a_round_is_compared() -> Result<(), MetalProverError> {
        let context = MetalContext::shared_on(Device::Cpu, &[&LIBRARY])?;
        let mut transcript = default_duplex_sponge();
        let mut log = CheckRng::new(1).efs(4 * SECTION);
        for of_round in log.chunks_exact_mut(SECTION) {
            for &eval in &of_round[..SECTION - 1] {
                FiatShamirTranscript::<SC>::observe_ext(&mut transcript, eval);
            }
            of_round[SECTION - 1] = FiatShamirTranscript::<SC>::sample_ext(&mut transcript);
        }
        let finish = |read: &[EF]| {
            let sent = SentRounds::of_device(MetalBuffer::uninit(&context, 1)?, SECTION);
            sent.finish::<SC, DuplexSponge>(&mut default_duplex_sponge(), read)
        };
        assert_eq!(finish(&log)?.challenges.len(), 4);
        for at in 0..log.len() {
            let mut log = log.clone();
            log[at] += EF::ONE;
            let error = finish(&log).err().expect("another transcript");
            assert!(
                matches!(error, MetalProverError::TranscriptsDiffer { phase: PHASE }),
                "{at}: {error}"
            );
        }
        Ok(())
    }
}
