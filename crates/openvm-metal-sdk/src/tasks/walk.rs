//! `Walk`: a machine that goes to any segment of a plan.

use std::sync::Arc;

use openvm_circuit::{
    arch::execution_mode::Segment,
    system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK},
};
use openvm_sdk::StdIn;
use openvm_stark_backend::prover::ProvingContext;

use super::Plan;
use crate::{
    app::{AppKey, CommittedExe, Machine},
    engine::SdkEngine,
    error::{SdkError, Stage},
    prelude::F,
};

/// A machine and where it stands. It goes on from there if it can, and starts again if it has to go back or has failed.
pub(super) struct Walk<E: SdkEngine> {
    device: E::Device,
    key: Arc<AppKey<E>>,
    exe: Arc<CommittedExe<E>>,
    plan: Arc<Plan>,
    input: StdIn,
    at: Option<Position<E>>,
}

struct Position<E: SdkEngine> {
    machine: Machine<E>,
    /// The segment that it stands in front of.
    next: usize,
    /// The chips have the memory that this segment starts from.
    memory_is_given: bool,
}

impl<E: SdkEngine> Walk<E> {
    /// A walk that has not begun.
    pub fn new(
        device: E::Device,
        key: Arc<AppKey<E>>,
        exe: Arc<CommittedExe<E>>,
        plan: Arc<Plan>,
        input: StdIn,
    ) -> Self {
        Self {
            device,
            key,
            exe,
            plan,
            input,
            at: None,
        }
    }

    /// The next step begins with a new machine.
    pub fn forget(&mut self) {
        self.at = None;
    }

    /// The traces of a segment on the device.
    pub fn traces(&mut self, index: usize) -> Result<ProvingContext<E::PB>, SdkError> {
        let plan = self.plan.clone();
        let segment = plan.segment(index)?;
        let mut at = self.go(index)?;
        if !at.memory_is_given {
            at.machine.give_own_memory();
        }
        let recorded = at.machine.record(index, segment)?;
        let ctx = at.machine.trace(recorded)?;
        self.at = Some(Position {
            machine: at.machine,
            next: index + 1,
            memory_is_given: true,
        });
        Ok(ctx)
    }

    /// What the guest revealed, with its path in the memory at the end.
    pub fn end(&mut self) -> Result<UserPublicValuesProof<CHUNK, F>, SdkError> {
        let at = self.go(self.plan.segments().len())?;
        let values = at.machine.user_public_values();
        self.at = Some(at);
        Ok(values)
    }

    /// The machine in front of a segment. It is gone if something fails: its chips may hold half of a segment.
    fn go(&mut self, index: usize) -> Result<Position<E>, SdkError> {
        let mut at = match self.at.take() {
            Some(at) if at.next <= index => at,
            Some(at) => self.start(at.machine),
            None => {
                let params = self.key.engine.params().clone();
                let engine = E::open(params, &self.device);
                let engine = engine.map_err(SdkError::engine(Stage::OpenDevice))?;
                self.start(Machine::new(&self.key, engine, self.exe.clone())?)
            }
        };
        if at.next < index {
            let between = &self.plan.segments()[at.next..index];
            // One run: entering the interpreter costs time for each instruction of the program.
            let whole = Segment {
                instret_start: between[0].instret_start,
                num_insns: between.iter().map(|segment| segment.num_insns).sum(),
                trace_heights: Vec::new(),
            };
            at.machine.skip(at.next, &whole)?;
            at.next = index;
            at.memory_is_given = false;
        }
        Ok(at)
    }

    fn start(&self, mut machine: Machine<E>) -> Position<E> {
        machine.start(self.input.clone());
        Position {
            machine,
            next: 0,
            memory_is_given: false,
        }
    }
}
