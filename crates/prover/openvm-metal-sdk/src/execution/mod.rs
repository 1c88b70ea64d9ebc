//! Execution of a program: steps of RV32IM by loops of our own, other instructions by OpenVM's executors.
//!
//! [`Execution`] counts rows: those of a block of steps at once; OpenVM's executors, behind their checks, report theirs to [`Rows`]. [`Recorder`]
//! records a segment. Values, heights, errors and records equal those of OpenVM's interpreters; tests compare them.

mod arithmetic;
mod limits;
mod program;
mod record;
mod records;
mod rows;
mod run;
mod step;

use openvm_circuit::{
    arch::{ExecutionError, SystemConfig, VmExecState, VmState},
    system::memory::online::GuestMemory,
};
use openvm_sdk::StdIn;

pub use self::rows::Rows;
use self::run::{run, State, Stop, MOST_STEPS};
pub(crate) use self::{
    limits::{AirShape, Cut, SegmentLimits, CHECK_INSTRUCTIONS},
    program::DecodedProgram,
    record::Recorder,
};
use crate::{prelude::F, vm::memory_bytes};

/// A program that is being executed.
pub(crate) struct Execution<'p> {
    program: &'p DecodedProgram<'p>,
    state: State,
    /// Bytes of the guest's memory.
    memory_bytes: u32,
    /// Instructions that were executed.
    executed: u64,
    /// Exit code, after the end.
    exit_code: Option<u32>,
}

impl<'p> Execution<'p> {
    /// A program at its start.
    pub fn new(
        program: &'p DecodedProgram<'p>,
        system: &SystemConfig,
        input: StdIn,
        rows: Rows,
    ) -> Self {
        let exe = program.exe;
        let state = VmState::initial(system, &exe.init_memory, exe.pc_start, input);
        Self {
            program,
            state: VmExecState::new(state, rows),
            memory_bytes: memory_bytes(&system.memory_config),
            executed: 0,
            exit_code: None,
        }
    }

    /// Goes back to the start of the program.
    pub fn restart(&mut self, input: StdIn) {
        let exe = self.program.exe;
        let state = &mut self.state;
        state.vm_state.reset(&exe.init_memory, exe.pc_start, input);
        state.exit_code = Ok(None);
        state.ctx.restart();
        self.executed = 0;
        self.exit_code = None;
    }

    /// Instructions that were executed.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// The exit code, after the end.
    pub fn exit_code(&self) -> Option<u32> {
        self.exit_code
    }

    /// The state, without the rows.
    pub fn into_state(self) -> VmState<F, GuestMemory> {
        self.state.vm_state
    }

    pub fn state(&self) -> &VmState<F, GuestMemory> {
        &self.state.vm_state
    }

    pub fn rows(&self) -> &Rows {
        &self.state.ctx
    }

    /// Begins another segment: rows and touched pages are counted from here.
    pub fn begin_segment(&mut self) {
        self.state.ctx.restart();
    }

    /// Executes whole blocks, of about `instructions` instructions and no more, and fewer if they make many rows; at least one.
    ///
    /// # Errors
    /// [`ExecutionError`] of the guest.
    pub fn run_blocks(&mut self, instructions: u64) -> Result<(), ExecutionError> {
        match self.run::<false>(instructions.min(MOST_STEPS))? {
            0 => self.run::<true>(1).map(drop),
            _ => Ok(()),
        }
    }

    /// Executes until `executed` instructions are executed, or the program ends.
    ///
    /// # Errors
    /// [`ExecutionError`] of the guest.
    pub fn run_to(&mut self, executed: u64) -> Result<(), ExecutionError> {
        while self.executed < executed && self.exit_code.is_none() {
            let bound = (executed - self.executed).min(MOST_STEPS);
            if self.run::<false>(bound)? == 0 {
                self.run::<true>(bound)?;
            }
        }
        Ok(())
    }

    fn run<const SINGLE: bool>(&mut self, bound: u64) -> Result<u64, ExecutionError> {
        if self.exit_code.is_some() {
            return Ok(0);
        }
        let (executed, stop) =
            run::<SINGLE>(self.program, &mut self.state, self.memory_bytes, bound);
        self.executed += executed;
        match stop {
            Stop::Bound => Ok(executed),
            Stop::End(code) => {
                self.exit_code = Some(code);
                Ok(executed)
            }
            Stop::Failed => match std::mem::replace(&mut self.state.exit_code, Ok(None)) {
                Err(error) => Err(error),
                Ok(_) => Err(ExecutionError::Unreachable(self.state.pc())),
            },
        }
    }
}
