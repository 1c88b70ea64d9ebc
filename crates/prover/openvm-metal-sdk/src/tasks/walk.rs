//! `Walk`: a machine that goes to any segment of a plan.

use std::sync::Arc;

use openvm_circuit::system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK};
use openvm_sdk::StdIn;
use openvm_stark_backend::prover::ProvingContext;

use super::Plan;
use crate::{
    app::{AppKey, AppProver, Machine, Runner},
    engine::SdkEngine,
    error::SdkError,
    prelude::F,
};

/// A machine and where it stands. It goes on from there if it can, and starts again if it has to go back or has failed.
pub(super) struct Walk<'a, E: SdkEngine> {
    prover: &'a AppProver<E>,
    runner: &'a Runner<'a>,
    plan: Arc<Plan>,
    input: StdIn,
    /// On each device, with counters of the walk's own.
    engines: Vec<E>,
    at: Option<Position<E>>,
}

struct Position<E: SdkEngine> {
    machine: Machine<E>,
    /// The next segment of the machine.
    next: usize,
}

impl<'a, E: SdkEngine> Walk<'a, E> {
    /// A walk that has not begun.
    ///
    /// # Errors
    /// If a device is gone.
    pub fn new(
        prover: &'a AppProver<E>,
        runner: &'a Runner<'a>,
        plan: Arc<Plan>,
        input: StdIn,
    ) -> Result<Self, SdkError> {
        let engines = prover.keys().iter().map(AppKey::another_engine);
        Ok(Self {
            prover,
            runner,
            plan,
            input,
            engines: engines.collect::<Result<_, _>>()?,
            at: None,
        })
    }

    /// Drops the machine: the next step begins with a new one.
    pub fn forget(&mut self) {
        self.at = None;
    }

    /// The segment before which it stands: the start if it has no machine.
    pub fn place(&self) -> usize {
        self.at.as_ref().map_or(0, |at| at.next)
    }

    /// The traces of a segment, on the device that is chosen when it is recorded. Nothing if none is chosen. Nothing, too, if they are
    /// not wanted any more, which is asked before each segment on the way and before the recording: there the machine stays.
    pub fn traces(
        &mut self,
        index: usize,
        is_wanted: &dyn Fn() -> bool,
        device: impl FnOnce() -> Option<usize>,
    ) -> Result<Option<ProvingContext<E::PB>>, SdkError> {
        let plan = self.plan.clone();
        let segment = plan.segment(index)?;
        let Some(mut machine) = self.go_before(index, is_wanted)? else {
            return Ok(None);
        };
        machine.go_to(self.runner, index, segment)?;
        if !is_wanted() {
            self.put_back(machine, index);
            return Ok(None);
        }
        let recorded = machine.record(index, segment)?;
        let Some(device) = device() else {
            return Ok(None);
        };
        machine.aim(&self.engines[device], &self.prover.exes()[device]);
        let ctx = machine.trace(recorded)?;
        self.put_back(machine, index + 1);
        Ok(Some(ctx))
    }

    /// The guest's public values, with their path in the memory at the end. `None` if they are not wanted any more.
    pub fn end(
        &mut self,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Option<UserPublicValuesProof<CHUNK, F>>, SdkError> {
        let end = self.plan.segments().len();
        let Some(machine) = self.go_before(end, is_wanted)? else {
            return Ok(None);
        };
        let values = machine.user_public_values();
        self.put_back(machine, end);
        Ok(Some(values))
    }

    fn put_back(&mut self, machine: Machine<E>, next: usize) {
        self.at = Some(Position { machine, next });
    }

    /// A machine before a segment, or before the end. The walk has none until it is put back: if something fails, its chips may hold half
    /// of a segment. Nothing if it is not wanted any more: the machine stays on its way.
    fn go_before(
        &mut self,
        index: usize,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Option<Machine<E>>, SdkError> {
        let Position {
            mut machine,
            mut next,
        } = self.begin(index)?;
        while next < index {
            if !is_wanted() {
                self.put_back(machine, next);
                return Ok(None);
            }
            machine.skip(self.runner, next, self.plan.segment(next)?)?;
            next += 1;
        }
        Ok(Some(machine))
    }

    /// A machine that is not past a segment: that of the walk, or one at the start.
    fn begin(&mut self, index: usize) -> Result<Position<E>, SdkError> {
        let mut machine = match self.at.take() {
            Some(at) if at.next <= index => return Ok(at),
            Some(at) => at.machine,
            None => Machine::new(&self.prover.keys()[0], self.prover.exe().clone())?,
        };
        machine.start(self.input.clone());
        Ok(Position { machine, next: 0 })
    }
}
