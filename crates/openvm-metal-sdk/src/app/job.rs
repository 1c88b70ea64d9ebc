//! `Job`: one execution to prove, and the steps of it that one thread or several take.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

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
    engine::{EngineError, SdkEngine},
    error::{SdkError, Stage},
    options::ProveOptions,
    prelude::{F, SC},
    progress::Event,
    report::Report,
};

/// What an execution was proved by.
pub(super) struct Segments {
    pub proofs: Vec<Proof<SC>>,
    pub user_public_values: UserPublicValuesProof<CHUNK, F>,
}

/// One execution to prove.
pub(super) struct Job<'a, E: SdkEngine> {
    pub device: &'a E::Device,
    pub key: &'a AppKey<E>,
    pub exe: &'a Arc<CommittedExe<E>>,
    /// Held while a proof is made on the device.
    pub device_lock: &'a Mutex<()>,
    pub options: &'a ProveOptions<'a>,
    pub resume: Option<ResumeFolder>,
}

impl<E: SdkEngine> Job<'_, E> {
    pub fn machine(&self) -> Result<Machine<E>, SdkError> {
        let params = self.key.engine.params().clone();
        let engine = E::open(params, self.device).map_err(SdkError::engine(Stage::OpenDevice))?;
        Machine::new(self.key, engine, self.exe.clone())
    }

    /// Cuts the execution into segments and says so.
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
        match &self.resume {
            Some(folder) => folder.load(index, segment),
            None => Ok(None),
        }
    }

    pub fn found(&self, index: usize, segment: &Segment) {
        self.options.progress.event(Event::SegmentResumed {
            segment: index,
            instructions: segment.num_insns,
        });
    }

    pub fn traced(&self, index: usize, segment: &Segment) {
        self.options.progress.event(Event::SegmentTraced {
            segment: index,
            instructions: segment.num_insns,
        });
    }

    /// Proves a segment and stores its proof.
    pub fn prove(
        &self,
        index: usize,
        segment: &Segment,
        ctx: ProvingContext<E::PB>,
        report: &mut Report,
    ) -> Result<Proof<SC>, SdkError> {
        let key = self.key;
        let held = self
            .device_lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let clock = Instant::now();
        let proof = key
            .engine
            .prove(&key.device_key, ctx)
            .map_err(|error| SdkError::Engine {
                stage: Stage::ProveSegment(index),
                source: EngineError::new(error),
            })?;
        report.prove += clock.elapsed();
        drop(held);
        if let Some(folder) = &self.resume {
            folder.store(index, segment, &proof)?;
        }
        self.options.progress.event(Event::SegmentProved {
            segment: index,
            instructions: segment.num_insns,
        });
        Ok(proof)
    }
}
