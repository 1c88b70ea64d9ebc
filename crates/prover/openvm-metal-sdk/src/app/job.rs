//! `Job`: one execution to prove, and the steps of it that one thread or several take.

use std::{sync::Arc, time::Duration};

use openvm_circuit::arch::execution_mode::Segment;
use openvm_stark_backend::{proof::Proof, prover::ProvingContext};

use super::{
    check::SegmentCheck,
    kept::Kept,
    resume::{segment_file, ResumeFolder},
    snapshot::EndOfMemory,
    tracer::SegmentTracer,
    AppKey, CommittedExe,
};
use crate::{
    devices::{Fleet, Refused, Reservation, Work},
    engine::SdkEngine,
    error::{SdkError, Stage},
    options::ProveOptions,
    prelude::SC,
    progress::Event,
    span::Span,
};

/// Proofs of an execution's segments.
pub(super) struct Segments {
    pub proofs: Vec<Proof<SC>>,
    pub end: EndOfMemory,
}

/// Verdict on a proof that a device made.
pub(super) enum Accepted {
    /// The proof is its segment's; with its span if that was asked.
    Yes(Option<Span>),
    No(Refused),
}

/// One execution to prove.
pub(super) struct Job<'a, E: SdkEngine> {
    /// The key and the program on each device.
    pub keys: &'a [AppKey<E>],
    pub exes: &'a [Arc<CommittedExe<E>>],
    pub fleet: &'a Fleet<'a>,
    pub options: &'a ProveOptions<'a>,
    pub resume: Option<ResumeFolder>,
    /// Verifies segments one by one. Without a folder that keeps them, and without devices that can do each other's work, the
    /// verification of the whole proof is enough.
    pub check: Option<SegmentCheck>,
    /// Most bytes of records and traces on the host.
    pub host_memory: u64,
}

impl<E: SdkEngine> Job<'_, E> {
    /// A tracer whose traces go to the first device, of an execution with so many inputs.
    pub fn tracer(&self, inputs: usize) -> Result<SegmentTracer<E>, SdkError> {
        SegmentTracer::new(&self.keys[0], &self.exes[0], inputs)
    }

    /// The proof of a segment from the resume folder, which verifies. A file that holds none is set aside.
    pub fn resumed(
        &self,
        index: usize,
        segment: &Segment,
    ) -> Result<Option<(Proof<SC>, Span)>, SdkError> {
        let (Some(folder), Some(check)) = (&self.resume, &self.check) else {
            return Ok(None);
        };
        let found =
            folder
                .load(index, segment)?
                .and_then(|proof| match check.check(index, None, &proof) {
                    Ok(span) => Kept::Part((proof, span)),
                    Err(reason) => Kept::Bad(format!("is not accepted: {reason}")),
                });
        match found {
            Kept::None => Ok(None),
            Kept::Part(found) => Ok(Some(found)),
            Kept::Bad(reason) => {
                folder.refuse(&segment_file(index), &reason, self.options.progress)?;
                Ok(None)
            }
        }
    }

    /// A place on a device for the traces of a segment; waits until there is one. `refused` if it was proved before.
    ///
    /// # Errors
    /// See [`Fleet::reserve`].
    pub fn reserve(
        &self,
        segment: &Segment,
        refused: Option<&Refused>,
    ) -> Result<Reservation<'_>, SdkError> {
        let trace_bytes = self.keys[0].trace_bytes(segment);
        self.fleet.reserve(Work::Segment { trace_bytes }, refused)
    }

    /// Bytes that the host holds of a segment, at most.
    ///
    /// # Errors
    /// [`SdkError::HostMemory`] if it may not hold as many.
    pub fn host_bytes(&self, index: usize, segment: &Segment) -> Result<u64, SdkError> {
        self.keys[0].host_bytes(index, segment, self.host_memory)
    }

    /// The traces of a segment are on its device.
    pub fn traced(&self, index: usize, segment: &Segment) {
        self.options.progress.event(Event::SegmentTraced {
            segment: index,
            instructions: segment.num_insns,
        });
    }

    /// Proves a segment on the reserved device. Also gives the time of the proof itself.
    pub fn prove(
        &self,
        index: usize,
        reservation: Reservation<'_>,
        ctx: ProvingContext<E::PB>,
    ) -> Result<(Proof<SC>, Duration), SdkError> {
        let AppKey {
            engine, device_key, ..
        } = &self.keys[reservation.device()];
        let stage = Stage::ProveSegment(index);
        self.fleet
            .prove(reservation, stage, engine, device_key, ctx)
    }

    /// Verifies and stores a proof that a device made; `before` if it made or another one made the same before, which was refused.
    ///
    /// # Errors
    /// See [`Fleet::refuse`]; [`SdkError::Resume`] if it cannot be stored.
    pub fn accept(
        &self,
        index: usize,
        segment: &Segment,
        device: usize,
        proof: &Proof<SC>,
        before: Option<&Refused>,
    ) -> Result<Accepted, SdkError> {
        let check = self.check.as_ref();
        let span = check.map(|check| check.check(index, None, proof));
        let span = match span.transpose() {
            Ok(span) => span,
            Err(reason) => {
                let trace_bytes = self.keys[0].trace_bytes(segment);
                let (work, stage) = (Work::Segment { trace_bytes }, Stage::ProveSegment(index));
                let tell = |excluded| {
                    self.options.progress.event(Event::SegmentRefused {
                        segment: index,
                        device: self.fleet.name(device),
                        reason: &reason,
                        excluded,
                    });
                };
                let refused =
                    self.fleet
                        .refuse(device, work, stage, reason.clone(), before, tell)?;
                return Ok(Accepted::No(refused));
            }
        };
        if let Some(folder) = &self.resume {
            folder.store(index, segment, proof)?;
        }
        self.options.progress.event(Event::SegmentProved {
            segment: index,
            instructions: segment.num_insns,
            device: self.fleet.name(device),
        });
        Ok(Accepted::Yes(span))
    }
}
