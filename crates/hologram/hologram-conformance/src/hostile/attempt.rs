//! One wrong program from its making to its end.

use hologram_backends::backend::launch::MAX_SHARED_BYTES;
use hologram_backends::{
    Backend, BackendError, BufferHandle, ExecutionParams, FaultKind, Program, ProgramError,
    Register, Ty,
};

use super::{damage_bytes, damage_text, launch, program, HANDLES};
use crate::Numbers;

/// Bytes of each of the two buffers.
const BUFFER_BYTES: usize = 100;

/// End of an attempt; all of these are right.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Text or bytes that are no program.
    Unreadable(ProgramError),
    /// A program or launch that is not valid.
    Invalid(BackendError),
    /// An instruction or program that the backend cannot run.
    Unsupported(BackendError),
    /// A lane's fault.
    Fault(FaultKind),
    /// Run to its end.
    Ran,
}

/// Makes the program of `seed`, damages it or not, reads it, and runs it on a backend.
///
/// # Errors
/// What a wrong program must not lead to: other errors of the backend.
pub fn attempt(backend: &mut dyn Backend, seed: u64) -> Result<Outcome, BackendError> {
    let mut numbers = Numbers::new(seed);
    let program = match read(&mut numbers) {
        Ok(program) => program,
        Err(error) => return Ok(Outcome::Unreadable(error)),
    };
    let input = backend.allocate_buffer(BUFFER_BYTES)?;
    let output = backend.allocate_buffer(BUFFER_BYTES)?;
    let bytes: Vec<u8> = (0..BUFFER_BYTES).map(|_| numbers.below(8) as u8).collect();
    backend.copy_to_buffer(input, &bytes)?;
    let params = params(&mut numbers, [input, output, BufferHandle::BOUNDARY]);
    let outcome = match backend.execute_program_with_params(&program, &params) {
        Ok(()) => Outcome::Ran,
        Err(BackendError::Fault(fault)) => Outcome::Fault(fault.kind),
        Err(
            error @ (BackendError::Program(_)
            | BackendError::Validation(_)
            | BackendError::InvalidLaunchConfig { .. }
            | BackendError::SharedMemoryAllocationFailed { .. }),
        ) => Outcome::Invalid(error),
        Err(
            error @ (BackendError::UnsupportedInstruction { .. }
            | BackendError::UnsupportedOperation(_)),
        ) => Outcome::Unsupported(error),
        Err(other) => return Err(other),
    };
    backend.free_buffer(input)?;
    backend.free_buffer(output)?;
    Ok(outcome)
}

/// A random program, or what is read of a damaged one.
fn read(numbers: &mut Numbers) -> Result<Program, ProgramError> {
    let program = program(numbers);
    match numbers.below(4) {
        0 => {
            let mut bytes = program.to_bytes()?;
            damage_bytes(&mut bytes, numbers);
            Program::from_bytes(&bytes)
        }
        1 => damage_text(&program.to_string(), numbers).parse(),
        _ => Ok(program),
    }
}

/// A small launch, now and then one that is over a limit or presets registers otherwise.
fn params(numbers: &mut Numbers, handles: [BufferHandle; 3]) -> ExecutionParams {
    let mut params = launch(numbers);
    for (register, handle) in HANDLES.zip(handles) {
        params = params.with_u64(Register::new(register), handle.raw());
    }
    let launch = &mut params.launch;
    match numbers.below(40) {
        0 => launch.grid.x = 0,
        1 => launch.grid.y = u32::MAX,
        2 => launch.block.x = 1025,
        3 => launch.block.z = 0,
        4 => launch.shared_memory.size_bytes = MAX_SHARED_BYTES + 1,
        5 => params.step_budget = Some(numbers.below(3)),
        6 => {
            let register = Register::new(1 + numbers.below(3) as u8);
            let ty = Ty::ALL[numbers.below(12) as usize];
            params = params.with_register(register, ty, numbers.bits());
        }
        _ => {}
    }
    params
}
