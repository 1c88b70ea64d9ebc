//! `Walk`: makes the traces of any segment of a plan.

use std::sync::Arc;

use openvm_circuit::system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK};
use openvm_sdk::StdIn;
use openvm_stark_backend::prover::ProvingContext;

use super::Plan;
use crate::{
    app::{AppKey, AppProver, SegmentTracer, Snapshotter},
    engine::SdkEngine,
    error::SdkError,
    execution::DecodedProgram,
    prelude::F,
};

/// An execution and a tracer, and where they stand. They go on from there if they can, and start again if they have to go back or have failed.
pub(super) struct Walk<'a, E: SdkEngine> {
    prover: &'a AppProver<E>,
    program: &'a DecodedProgram<'a>,
    plan: Arc<Plan>,
    input: StdIn,
    /// On each device, with counters of the walk's own.
    engines: Vec<E>,
    at: Option<Position<'a, E>>,
}

struct Position<'a, E: SdkEngine> {
    execution: Snapshotter<'a>,
    tracer: SegmentTracer<E>,
    /// The segment before which the execution stands.
    before: usize,
    /// The segment after the last one that was traced, if that is further: nothing has to be done again for it.
    next: usize,
}

impl<'a, E: SdkEngine> Walk<'a, E> {
    /// A walk that has not begun.
    ///
    /// # Errors
    /// If a device is gone.
    pub fn new(
        prover: &'a AppProver<E>,
        program: &'a DecodedProgram<'a>,
        plan: Arc<Plan>,
        input: StdIn,
    ) -> Result<Self, SdkError> {
        let engines = prover.keys().iter().map(AppKey::another_engine);
        Ok(Self {
            prover,
            program,
            plan,
            input,
            engines: engines.collect::<Result<_, _>>()?,
            at: None,
        })
    }

    /// Drops the execution and the tracer: the next step begins with new ones.
    pub fn forget(&mut self) {
        self.at = None;
    }

    /// The segment before which it stands: the start if it has no execution.
    pub fn place(&self) -> usize {
        self.at.as_ref().map_or(0, |at| at.next)
    }

    /// The traces of a segment, on the device that is chosen when it is recorded. Nothing if none is chosen. Nothing, too, if they are
    /// not wanted any more, which is asked before each segment on the way and before the recording: there the execution stays.
    pub fn traces(
        &mut self,
        index: usize,
        is_wanted: &dyn Fn() -> bool,
        device: impl FnOnce() -> Option<usize>,
    ) -> Result<Option<ProvingContext<E::PB>>, SdkError> {
        let plan = self.plan.clone();
        let segment = plan.segment(index)?;
        let Some(mut at) = self.go_before(index, is_wanted)? else {
            return Ok(None);
        };
        if !is_wanted() {
            self.at = Some(at);
            return Ok(None);
        }
        let snapshot = at.execution.snapshot(index)?;
        let recorded = at.tracer.record(index, segment, snapshot)?;
        let Some(device) = device() else {
            return Ok(None);
        };
        at.tracer
            .aim(&self.engines[device], &self.prover.exes()[device]);
        let ctx = at.tracer.trace(recorded)?;
        at.next = index + 1;
        self.at = Some(at);
        Ok(Some(ctx))
    }

    /// The guest's public values, with their path in the memory at the end. `None` if they are not wanted any more.
    pub fn end(
        &mut self,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Option<UserPublicValuesProof<CHUNK, F>>, SdkError> {
        let end = self.plan.segments().len();
        let Some(mut at) = self.go_before(end, is_wanted)? else {
            return Ok(None);
        };
        let values = at.execution.user_public_values(end)?;
        self.at = Some(at);
        Ok(Some(values))
    }

    /// The execution before a segment, or at the end. The walk has none until it is put back: if something fails, its chips may hold half
    /// of a segment. Nothing if it is not wanted any more: the execution stays on its way.
    fn go_before(
        &mut self,
        index: usize,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Option<Position<'a, E>>, SdkError> {
        let mut at = self.begin(index)?;
        while at.before < index {
            if !is_wanted() {
                self.at = Some(at);
                return Ok(None);
            }
            let segment = self.plan.segment(at.before)?;
            let end = segment.instret_start + segment.num_insns;
            at.execution.run_to(at.before, end)?;
            at.before += 1;
            at.next = at.next.max(at.before);
        }
        Ok(Some(at))
    }

    /// The execution, not past a segment: that of the walk, or one at the start.
    fn begin(&mut self, index: usize) -> Result<Position<'a, E>, SdkError> {
        let mut at = match self.at.take() {
            Some(at) => at,
            None => {
                let (key, exe) = (&self.prover.keys()[0], self.prover.exe());
                let inputs = self.input.buffer.len();
                let input = self.input.clone();
                Position {
                    tracer: SegmentTracer::new(key, exe, inputs)?,
                    execution: Snapshotter::new(key, self.program, input),
                    before: 0,
                    next: 0,
                }
            }
        };
        if at.before > index {
            at.execution.restart();
            (at.before, at.next) = (0, 0);
        }
        Ok(at)
    }
}
