//! `Job`: one execution to prove, and the steps of it that one thread or several take.

use std::{sync::Arc, time::Duration};

use openvm_circuit::{
    arch::execution_mode::Segment,
    system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK},
};
use openvm_sdk::StdIn;
use openvm_stark_backend::{proof::Proof, prover::ProvingContext};

use super::{
    machine::{Machine, MeteredRun},
    resume::ResumeFolder,
    AppKey, CommittedExe,
};
use crate::{
    devices::{Fleet, Reservation, Work},
    engine::SdkEngine,
    error::{SdkError, Stage},
    options::ProveOptions,
    prelude::{F, SC},
    progress::Event,
};

/// What an execution was proved by.
pub(super) struct Segments {
    pub proofs: Vec<Proof<SC>>,
    pub user_public_values: UserPublicValuesProof<CHUNK, F>,
}

/// One execution to prove.
pub(super) struct Job<'a, E: SdkEngine> {
    /// The key and the program on each device.
    pub keys: &'a [AppKey<E>],
    pub exes: &'a [Arc<CommittedExe<E>>],
    pub fleet: &'a Fleet<'a>,
    pub options: &'a ProveOptions<'a>,
    pub resume: Option<ResumeFolder>,
    /// Most bytes of records and traces on the host.
    pub host_memory: u64,
}

impl<E: SdkEngine> Job<'_, E> {
    /// A machine whose traces go to the first device.
    pub fn machine(&self) -> Result<Machine<E>, SdkError> {
        Machine::new(&self.keys[0], self.exes[0].clone())
    }

    /// Cuts the execution into segments and reports each as an event.
    pub fn execute_metered(
        &self,
        machine: &Machine<E>,
        input: StdIn,
        mut on_segment: impl FnMut(&Segment) -> Result<(), SdkError>,
    ) -> Result<MeteredRun, SdkError> {
        let options = self.options;
        let mut index = 0;
        let run = machine.execute_metered(input, options.max_instructions, |segment| {
            options.check_cancelled()?;
            options.progress.event(Event::SegmentExecuted {
                segment: index,
                instructions: segment.num_insns,
            });
            index += 1;
            on_segment(segment)
        })?;
        options.progress.event(Event::Executed {
            segments: run.segments.len(),
            instructions: run.instructions(),
        });
        Ok(run)
    }

    /// The proof of a segment from the resume folder.
    pub fn resumed(&self, index: usize, segment: &Segment) -> Result<Option<Proof<SC>>, SdkError> {
        let Some(folder) = &self.resume else {
            return Ok(None);
        };
        let found = folder.load(index, segment)?;
        if found.is_some() {
            self.options.progress.event(Event::SegmentResumed {
                segment: index,
                instructions: segment.num_insns,
            });
        }
        Ok(found)
    }

    /// A place on a device for the traces of a segment; waits until there is one.
    pub fn reserve(&self, segment: &Segment) -> Reservation<'_> {
        let trace_bytes = self.keys[0].trace_bytes(segment);
        self.fleet.reserve(Work::Segment { trace_bytes })
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

    /// Proves a segment on the reserved device and stores its proof. Also gives the time of the proof itself.
    pub fn prove(
        &self,
        index: usize,
        segment: &Segment,
        reservation: Reservation<'_>,
        ctx: ProvingContext<E::PB>,
    ) -> Result<(Proof<SC>, Duration), SdkError> {
        let device = reservation.device();
        let AppKey {
            engine, device_key, ..
        } = &self.keys[device];
        let stage = Stage::ProveSegment(index);
        let (proof, time) = self
            .fleet
            .prove(reservation, stage, engine, device_key, ctx)?;
        if let Some(folder) = &self.resume {
            folder.store(index, segment, &proof)?;
        }
        self.options.progress.event(Event::SegmentProved {
            segment: index,
            instructions: segment.num_insns,
            device: self.fleet.name(device),
        });
        Ok((proof, time))
    }
}
