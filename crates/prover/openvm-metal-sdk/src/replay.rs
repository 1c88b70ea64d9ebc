//! `replay`: an execution that keeps its state where it ends, for those who look for the cause of a failure.

use std::{collections::VecDeque, mem::size_of};

use openvm_circuit::arch::{
    execution_mode::ExecutionCtx,
    instructions::{
        exe::VmExe, program::DEFAULT_PC_STEP, riscv::RV32_REGISTER_AS, LocalOpcode, SystemOpcode,
    },
    ExecuteFunc, ExecutorInventory, InterpreterExecutor, StaticProgramError, VmExecState,
    VmExecutionConfig, VmState,
};
use openvm_sdk::StdIn;
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::p3_field::PrimeField32;

use crate::{
    error::{guard, SdkError, Stage},
    fault::{at, Exit, Fault},
    guest_output::{printing, GuestOutput},
    prelude::F,
    vm::{CheckedExecutor, GuestConfig},
};

/// State of a guest before the instruction that ended it.
#[derive(Debug)]
pub struct Stop {
    /// Address of that instruction; behind the last one if the guest ran past it.
    pub pc: u32,
    /// Registers x0 to x31 before it.
    pub registers: [u32; 32],
    /// Addresses of the instructions before it, oldest first.
    pub last: Vec<u32>,
    /// Number of instructions before it.
    pub executed: u64,
    /// Reason of the guest's end; nothing if its exit code is 0.
    pub error: Option<SdkError>,
}

/// Executes a program to its end, one instruction after another, and returns its state there with the addresses of the
/// last `keep` instructions. Slower than an execution without.
///
/// # Errors
/// [`SdkError::InstructionBound`] if it does not end within `max_instructions`; errors of the configuration. What goes wrong in the
/// guest is in [`Stop::error`].
pub fn replay(
    config: &SdkVmConfig,
    exe: &VmExe<F>,
    input: StdIn,
    max_instructions: u64,
    keep: usize,
    output: &dyn GuestOutput,
) -> Result<Stop, SdkError> {
    let inputs = input.buffer.len();
    let executors = guard(Stage::BuildMachine, || {
        GuestConfig::new(config.clone(), &exe.program).create_executors()
    })?
    .map_err(|error| SdkError::machine(Stage::BuildMachine, error, inputs))?;
    let steps = guard(Stage::BuildMachine, || Steps::new(&executors, exe))?
        .map_err(|error| SdkError::machine(Stage::BuildMachine, error, inputs))?;
    let start = VmState::initial(&config.system.config, &exe.init_memory, exe.pc_start, input);
    let mut run = Run {
        state: VmExecState::new(start, ExecutionCtx::new(None)),
        last: VecDeque::with_capacity(keep),
        executed: 0,
    };
    let ended = guard(Stage::Execute, || {
        printing(output, || Ok(run.until_end(&steps, max_instructions, keep)))
    })
    .and_then(|result| result);
    let error = match ended {
        Ok(true) => {
            let end = std::mem::replace(&mut run.state.exit_code, Ok(None));
            end.err()
                .map(|error| SdkError::execution(Stage::Execute, error, inputs))
        }
        Ok(false) => {
            return Err(SdkError::InstructionBound {
                executed: run.executed,
                bound: max_instructions,
            })
        }
        Err(error) => Some(error),
    };
    Ok(run.stop(error, keep))
}

/// A program, decoded.
struct Steps {
    steps: Vec<Option<Step>>,
    /// Data of each step, `words` long.
    data: Vec<u64>,
    words: usize,
    start: u32,
}

enum Step {
    Execute(ExecuteFunc<F, ExecutionCtx>),
    Exit(u32),
}

impl Steps {
    fn new(
        executors: &ExecutorInventory<CheckedExecutor>,
        exe: &VmExe<F>,
    ) -> Result<Self, StaticProgramError> {
        let slots = &exe.program.instructions_and_debug_infos;
        let sizes = executors.executors.iter().map(|x| x.pre_compute_size());
        let words = sizes.max().unwrap_or(0).div_ceil(size_of::<u64>());
        let mut data = vec![0_u64; words * slots.len()];
        let mut steps = Vec::with_capacity(slots.len());
        for (index, slot) in slots.iter().enumerate() {
            let pc = exe.program.pc_base + index as u32 * DEFAULT_PC_STEP;
            let step = match slot {
                None => None,
                Some((i, _)) if i.opcode == SystemOpcode::TERMINATE.global_opcode() => {
                    Some(Step::Exit(i.c.as_canonical_u32()))
                }
                Some((i, _)) => {
                    let opcode = i.opcode;
                    let executor = executors
                        .get_executor(opcode)
                        .ok_or(StaticProgramError::DisabledOperation { pc, opcode })?;
                    let own = &mut data[index * words..(index + 1) * words];
                    // SAFETY: any bytes are bytes; their number is that of the words.
                    let bytes = unsafe {
                        std::slice::from_raw_parts_mut(
                            own.as_mut_ptr().cast::<u8>(),
                            size_of_val(own),
                        )
                    };
                    Some(Step::Execute(executor.pre_compute(pc, i, bytes)?))
                }
            };
            steps.push(step);
        }
        Ok(Self {
            steps,
            data,
            words,
            start: exe.program.pc_base,
        })
    }

    /// The instruction at an address, and its data.
    fn get(&self, pc: u32) -> Option<(&Step, *const u8)> {
        let index = (pc.checked_sub(self.start)? / DEFAULT_PC_STEP) as usize;
        let step = self.steps.get(index)?.as_ref()?;
        let data = &self.data[index * self.words..];
        Some((step, data.as_ptr().cast()))
    }
}

struct Run {
    state: VmExecState<F, openvm_circuit::system::memory::online::GuestMemory, ExecutionCtx>,
    last: VecDeque<u32>,
    /// Instructions that were begun.
    executed: u64,
}

impl Run {
    /// True if the guest ended, also by an error, which is the state's then.
    fn until_end(&mut self, steps: &Steps, bound: u64, keep: usize) -> bool {
        while self.executed < bound {
            let pc = self.state.pc();
            let Some((step, data)) = steps.get(pc) else {
                self.state.exit_code = Err(at(pc, Fault::NoInstruction));
                return true;
            };
            match step {
                Step::Exit(0) => return true,
                Step::Exit(code) => {
                    self.state.exit_code = Err(at(pc, Exit(*code)));
                    return true;
                }
                Step::Execute(step) => {
                    self.executed += 1;
                    // The last entry is the current instruction.
                    if self.last.len() > keep {
                        self.last.pop_front();
                    }
                    self.last.push_back(pc);
                    // SAFETY: `data` is the buffer that the executor filled for this instruction when it returned `step`; `steps` holds both,
                    // and the executors outlive it.
                    unsafe { step(data, &mut self.state) };
                    if self.state.exit_code.is_err() {
                        return true;
                    }
                }
            }
        }
        false
    }

    fn stop(mut self, error: Option<SdkError>, keep: usize) -> Stop {
        let ended_at = error.as_ref().and_then(SdkError::pc);
        let pc = ended_at.unwrap_or(self.state.pc());
        // A failed instruction was begun; exits and ends of the code were not.
        if self.last.back() == Some(&pc) && error.as_ref().is_some_and(is_of_an_instruction) {
            self.last.pop_back();
            self.executed -= 1;
        }
        let more = self.last.len().saturating_sub(keep);
        self.last.drain(..more);
        let state = &self.state;
        let register = |index: u32| state.host_read::<u8, 4>(RV32_REGISTER_AS, 4 * index);
        Stop {
            pc,
            registers: std::array::from_fn(|index| u32::from_le_bytes(register(index as u32))),
            last: self.last.into(),
            executed: self.executed,
            error,
        }
    }
}

fn is_of_an_instruction(error: &SdkError) -> bool {
    !matches!(
        error,
        SdkError::GuestExit { .. }
            | SdkError::GuestFault {
                fault: Fault::NoInstruction,
                ..
            }
    )
}
