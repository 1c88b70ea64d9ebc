//! Programs of whole-buffer instructions: the host computes their scalars, the device runs the instructions.

use hologram_kernels::device;

use super::intrinsic::launch_intrinsic;
use super::pending::Pending;
use super::{device_error, MetalBackend};
use crate::backend::launch::ExecutionParams;
use crate::cpu::HostMemory;
use crate::error::{BackendError, Fault, FaultKind, Result};
use crate::intrinsics::IntrinsicCall;
use crate::isa::Instruction;
use crate::program::Program;

/// True if a program has whole-buffer instructions and needs no memory for the rest: it runs forward and neither
/// loads, stores, nor makes or frees pools.
pub(super) fn is_operations(program: &Program) -> bool {
    use Instruction as I;
    let instructions = program.instructions();
    let memory = |i: &I| i.is_memory_access() || i.is_pool_operation();
    instructions.iter().any(I::is_intrinsic)
        && !instructions.iter().any(memory)
        && program.runs_forward()
}

impl MetalBackend {
    /// Computes the scalars of such a program and enqueues its whole-buffer instructions in their order.
    ///
    /// # Errors
    /// A program or launch that is not valid, an instruction that the device does not have (before anything runs),
    /// the device's own.
    pub(super) fn launch_operations(
        &mut self,
        program: &Program,
        params: &ExecutionParams,
    ) -> Result<Pending> {
        self.check_operations(program)?;
        if params.is_watched() {
            // Its time is its own.
            self.stream.wait().map_err(device_error)?;
        }
        let Self {
            interpreter,
            memory,
            stream,
            stats,
            ..
        } = self;
        let fault = |pc: usize, kind| Fault {
            lane: 0,
            pc,
            instruction: program.instructions()[pc].to_string(),
            kind,
        };
        let mut uncertain = Vec::new();
        let mut failed = None;
        let watched = params.is_watched();
        let mut enqueue = |pc: usize, call: &IntrinsicCall| {
            match launch_intrinsic(call, stream, memory) {
                Ok(launched) => {
                    stats.intrinsics += 1;
                    // Between two instructions the program may be ended: then this one has run.
                    if watched {
                        failed = stream.wait().map_err(device_error).err();
                    }
                    if !launched.is_certain() {
                        uncertain.push((launched, fault(pc, FaultKind::DivisionByZero)));
                    }
                    match failed {
                        None => Ok(()),
                        Some(_) => Err(FaultKind::DivisionByZero),
                    }
                }
                Err(BackendError::Fault(fault)) => Err(fault.kind),
                Err(error) => {
                    failed = Some(error);
                    // Ends the program; the error is what is reported.
                    Err(FaultKind::DivisionByZero)
                }
            }
        };
        let mut none = HostMemory::without_boundary();
        let ended = interpreter.run(program, params, &mut none, Some(&mut enqueue))?;
        match failed {
            Some(error) => Err(error),
            None => {
                stats.operation_programs += 1;
                Ok(Pending::Operations { uncertain, ended })
            }
        }
    }

    /// Checks that the device has all whole-buffer instructions of a program.
    fn check_operations(&self, program: &Program) -> Result<()> {
        let profile = self.stream.context().device_profile();
        for (pc, instruction) in program.instructions().iter().enumerate() {
            let supported = instruction
                .operation()
                .map_or(Ok(()), |operation| device::supports(&operation, profile));
            supported.map_err(|error| BackendError::UnsupportedInstruction {
                pc,
                instruction: instruction.to_string(),
                reason: error.to_string(),
            })?;
        }
        Ok(())
    }
}
