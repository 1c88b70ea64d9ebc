//! The rounds over the hypercube when all messages are sent, which on the device's transcript the host has not read yet.

use openvm_metal_common::{MetalBuffer, MetalSlice};
use openvm_stark_backend::FiatShamirTranscript;

use super::inputs::RoundMessages;
use crate::{
    constraints::sums::DevicePoint,
    error::MetalProverError,
    prelude::{EF, SC},
    transcript::replayed,
};

const PHASE: &str = "constraints";

/// All rounds.
pub struct SentRounds {
    /// The device's log, or the challenges alone.
    log: MetalBuffer<EF>,
    /// Elements of the log for each round, of which the last is its challenge.
    section: usize,
    /// What the host knows.
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

    /// What the host has to read.
    pub fn unread(&self) -> Option<MetalSlice<'_, EF>> {
        self.messages.is_none().then(|| self.log.slice(..))
    }

    /// The messages, from what was read; the host's transcript goes to where the device's is.
    ///
    /// # Errors
    /// [`MetalProverError::TranscriptsDiffer`].
    pub fn finish<TS: FiatShamirTranscript<SC>>(
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
