//! Execution of a program: as a kernel, as whole-buffer operations, or by the interpreter.

use std::sync::Arc;

use hologram_kernels::device::Launched;

use super::fallback::{with_remedy, Fallback};
use super::intrinsic::launch_intrinsic;
use super::launch::{fault_buffer, read_fault, Encoded, Launch};
use super::memory::Range;
use super::operations::is_operations;
use super::pending::Pending;
use super::pipeline::{options, Pipeline};
use super::watched::{counted, not_begun, Place};
use super::MetalBackend;
use crate::backend::launch::{ExecutionParams, DEFAULT_STEP_BUDGET};
use crate::cpu::run_call;
use crate::error::{Fault, FaultKind, Result};
use crate::intrinsics::IntrinsicCall;
use crate::program::Program;

impl MetalBackend {
    /// Starts a program in the way that the policy and the program ask for.
    ///
    /// # Errors
    /// Those of [`Backend::submit`](crate::Backend::submit).
    pub(super) fn launch(
        &mut self,
        program: &Program,
        params: &ExecutionParams,
    ) -> Result<Pending> {
        let params = &*counted(params);
        if self.is_for_the_interpreter(self.fallback, program, params) {
            return self.interpret(program, params);
        }
        let launched = if is_operations(program) {
            self.launch_operations(program, params)
        } else {
            self.launch_kernel(program, params)
        };
        match launched {
            Err(error) if self.fallback.takes(&error) => self.interpret(program, params),
            Err(error) => Err(with_remedy(error)),
            launched => launched,
        }
    }

    /// Starts a whole-buffer operation.
    ///
    /// # Errors
    /// Those of [`Backend::submit_intrinsic`](crate::Backend::submit_intrinsic).
    pub(super) fn launch_call(&mut self, call: &IntrinsicCall) -> Result<Pending> {
        match launch_intrinsic(call, &self.stream, &mut self.memory) {
            Ok(launched) => {
                self.stats.intrinsics += 1;
                Ok(pending(launched, call))
            }
            Err(error) if self.fallback.takes(&error) => {
                let operands = call.operands();
                let wanted = |raw| {
                    let mut used = operands.all().iter();
                    used.any(|used| used.operand.buffer.raw() == raw)
                };
                let work = |memory: &mut _| run_call(call, memory);
                self.memory.on_host(&self.stream, wanted, work)?;
                self.stats.interpreted += 1;
                Ok(Pending::Done(Ok(())))
            }
            Err(error) => Err(with_remedy(error)),
        }
    }

    /// True if a policy prefers the interpreter to compiling the program.
    pub(crate) fn is_for_the_interpreter(
        &self,
        policy: Fallback,
        program: &Program,
        params: &ExecutionParams,
    ) -> bool {
        let Fallback::Adaptive { work } = policy else {
            return false;
        };
        let Ok((blocks, lanes)) = params.launch.check() else {
            return false;
        };
        let params = &*counted(params);
        let length = program.len() as u64;
        let instructions = (blocks * u64::from(lanes)).checked_mul(length);
        instructions.is_some_and(|instructions| instructions <= work)
            && self.stream.context().device_profile().unified
            && program.runs_forward()
            && !is_operations(program)
            && !self.is_compiled(program, params)
    }

    /// Runs a program by the interpreter on this backend's memory.
    fn interpret(&mut self, program: &Program, params: &ExecutionParams) -> Result<Pending> {
        let interpreter = &mut self.interpreter;
        let work = |memory: &mut _| interpreter.run(program, params, memory, None);
        let ended = self.memory.on_host(&self.stream, |_| true, work)?;
        self.stats.interpreted += 1;
        Ok(Pending::Operations {
            uncertain: Vec::new(),
            ended,
        })
    }

    fn launch_kernel(&mut self, program: &Program, params: &ExecutionParams) -> Result<Pending> {
        if let Some(pending) = self.launch_rerolled(program, params)? {
            return Ok(pending);
        }
        match self.launch_in_bounds(program, params)? {
            Some(pending) => Ok(pending),
            None => self.launch_as_is(program, params),
        }
    }

    fn launch_as_is(&mut self, program: &Program, params: &ExecutionParams) -> Result<Pending> {
        params.launch.check()?;
        let shape = options(&self.base, program, params);
        let context = self.stream.context().clone();
        let pipeline = self
            .pipelines
            .get(&context, program, &shape, &mut self.stats)?;
        self.encode(&[(pipeline, params)], None, None)
    }

    /// Encodes launches of one program, one after another: of all but the last nothing but being ended can be the fault. They share
    /// `scratch`, the record of faults and what may end them; `place` is where the program is then said to be.
    pub(super) fn encode(
        &mut self,
        stages: &[(Arc<Pipeline>, &ExecutionParams)],
        scratch: Option<Range>,
        place: Option<Place>,
    ) -> Result<Pending> {
        let Some((last, params)) = stages.last() else {
            return Ok(Pending::Done(Ok(())));
        };
        let budget = params.step_budget.unwrap_or(DEFAULT_STEP_BUDGET);
        let mut faults = match self.idle_faults.pop() {
            Some(buffer) => buffer,
            None => fault_buffer(&self.stream)?,
        };
        let watched = self.watch(params)?;
        for (pipeline, params) in stages {
            let lanes = params.launch.check()?;
            if pipeline.plan.table {
                self.refresh_table()?;
            }
            let encoded = Launch {
                pipeline,
                params,
                lanes,
                table: &self.table,
                shape: self.table_shape,
                scratch,
                faults: &mut faults,
                stop: watched.as_ref().map(|w| &*w.signal),
                never: &self.never,
            }
            .encode(&self.stream, &mut self.memory)?;
            self.stats.launches += 1;
            if let Encoded::Stopped { begun } = encoded {
                let program = &pipeline.program;
                let fault = read_fault(&mut faults, &self.stream, program, budget)?;
                self.idle_faults.push(faults);
                let fault = fault.unwrap_or_else(|| not_begun(program, begun));
                let fault = match &place {
                    Some(place) => place.fault(fault),
                    None => fault,
                };
                return Ok(Pending::Operations {
                    uncertain: Vec::new(),
                    ended: self.settled(Some(fault), watched),
                });
            }
        }
        Ok(Pending::Running {
            pipeline: last.clone(),
            faults,
            budget,
            watched,
            place,
        })
    }
}

/// A call that was encoded.
fn pending(launched: Launched, call: &IntrinsicCall) -> Pending {
    if launched.is_certain() {
        return Pending::Done(Ok(()));
    }
    let fault = Fault {
        lane: 0,
        pc: 0,
        instruction: call.to_string(),
        kind: FaultKind::DivisionByZero,
    };
    Pending::Operations {
        uncertain: vec![(launched, fault)],
        ended: None,
    }
}
