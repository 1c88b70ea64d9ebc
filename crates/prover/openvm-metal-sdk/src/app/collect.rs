//! `Collector`: proofs of segments as they are made and found, and which have to be made again.

use std::{collections::BTreeMap, sync::Mutex};

use openvm_circuit::{
    arch::{execution_mode::Segment, hasher::poseidon2::vm_poseidon2_hasher},
    system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK},
};
use openvm_stark_backend::proof::Proof;

use super::{
    chain::{Chain, End, Settled},
    job::Job,
    resume::segment_file,
    sink::ProofSink,
};
use crate::{
    devices::Refused,
    engine::SdkEngine,
    error::SdkError,
    prelude::{F, SC},
    progress::Event,
    report::Report,
    slot::lock,
    span::Span,
};

/// Takes the proofs of one job and gives them to its sink.
pub(super) struct Collector<'a, E: SdkEngine> {
    job: &'a Job<'a, E>,
    sink: &'a dyn ProofSink,
    state: Mutex<State>,
}

struct State {
    /// By segment.
    proofs: Vec<Option<Proof<SC>>>,
    /// If there is a folder to find proofs in.
    chain: Option<Chain>,
    /// Instructions of the segments that were found.
    found: BTreeMap<usize, u64>,
    /// Segments that have to be made, with what was wrong with the proof that was made already.
    missing: BTreeMap<usize, Option<Refused>>,
    report: Report,
}

impl<'a, E: SdkEngine> Collector<'a, E> {
    pub fn new(job: &'a Job<'a, E>, sink: &'a dyn ProofSink) -> Self {
        let state = State {
            proofs: Vec::new(),
            chain: job.resume.is_some().then(Chain::new),
            found: BTreeMap::new(),
            missing: BTreeMap::new(),
            report: Report::default(),
        };
        Self {
            job,
            sink,
            state: Mutex::new(state),
        }
    }

    /// The proof of a segment was made, and verified if it has a span.
    pub fn made(&self, index: usize, proof: Proof<SC>, span: Option<Span>) -> Result<(), SdkError> {
        let mut state = lock(&self.state);
        state.report.count(&proof);
        self.sink.segment(index, &proof)?;
        state.keep(index, proof);
        let settled = match (&mut state.chain, span) {
            (Some(chain), Some(span)) => chain.made(index, span),
            _ => Settled::default(),
        };
        self.settle(&mut state, settled)
    }

    /// The proof of a segment was found and verified.
    pub fn found(
        &self,
        index: usize,
        segment: &Segment,
        proof: Proof<SC>,
        span: Span,
    ) -> Result<(), SdkError> {
        let mut state = lock(&self.state);
        state.keep(index, proof);
        state.found.insert(index, segment.num_insns);
        let settled = match &mut state.chain {
            Some(chain) => chain.found(index, span),
            None => Settled::default(),
        };
        self.settle(&mut state, settled)
    }

    /// The execution has so many segments, and revealed these values at its end.
    pub fn end(
        &self,
        segments: usize,
        values: &UserPublicValuesProof<CHUNK, F>,
    ) -> Result<(), SdkError> {
        self.sink.close(segments);
        let system = &self.job.keys[0].config.system.config;
        let dimensions = system.memory_config.memory_dimensions();
        let values = values.clone();
        let fits = move |last: &Span| {
            let values = values.verify(&vm_poseidon2_hasher(), dimensions, last.final_root);
            last.terminates && values.is_ok()
        };
        let mut state = lock(&self.state);
        let settled = match &mut state.chain {
            Some(chain) => chain.end(End {
                segments,
                fits: Box::new(fits),
            }),
            None => Settled::default(),
        };
        self.settle(&mut state, settled)
    }

    /// A segment has to be made: nobody began, or what was made is wrong.
    pub fn missing(&self, index: usize, refused: Option<Refused>) {
        lock(&self.state).missing.insert(index, refused);
    }

    /// True if a segment has to be made.
    pub fn is_missing(&self) -> bool {
        !lock(&self.state).missing.is_empty()
    }

    /// The first segment that has to be made.
    pub fn next_missing(&self) -> Option<(usize, Option<Refused>)> {
        lock(&self.state).missing.pop_first()
    }

    /// All proofs, if there are so many, and the report gets what they were.
    pub fn finish(self, segments: usize, report: &mut Report) -> Result<Vec<Proof<SC>>, SdkError> {
        let state = self.state.into_inner();
        let state = state.unwrap_or_else(std::sync::PoisonError::into_inner);
        report.add(&state.report);
        let proofs: Option<Vec<_>> = state.proofs.into_iter().collect();
        proofs
            .filter(|proofs| proofs.len() == segments)
            .ok_or(SdkError::Cancelled)
    }

    fn settle(&self, state: &mut State, settled: Settled) -> Result<(), SdkError> {
        let progress = self.job.options.progress;
        for index in settled.ready {
            let instructions = state.found.remove(&index).unwrap_or_default();
            progress.event(Event::SegmentResumed {
                segment: index,
                instructions,
            });
            state.report.resumed += 1;
            if let Some(proof) = &state.proofs[index] {
                state.report.count(proof);
                self.sink.segment(index, proof)?;
            }
        }
        for (index, reason) in settled.refused {
            state.found.remove(&index);
            state.proofs[index] = None;
            state.missing.insert(index, None);
            if let Some(folder) = &self.job.resume {
                folder.refuse(&segment_file(index), &reason, progress)?;
            }
        }
        Ok(())
    }
}

impl State {
    fn keep(&mut self, index: usize, proof: Proof<SC>) {
        if self.proofs.len() <= index {
            self.proofs.resize_with(index + 1, || None);
        }
        self.proofs[index] = Some(proof);
    }
}
