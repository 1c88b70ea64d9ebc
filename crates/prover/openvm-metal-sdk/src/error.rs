//! `SdkError`: everything that can stop a program from being executed, proved or verified.

use std::{error::Error, fmt, path::PathBuf};

use openvm_circuit::arch::{ExecutionError, GenerationError, VirtualMachineError};
use openvm_metal_backend::{BrokenConstraint, MetalProverError};
use openvm_metal_common::MetalError;
pub(crate) use openvm_metal_verify::panic_message;
use openvm_metal_verify::VerifyError;
pub use openvm_metal_verify::{catch_panic, is_guarded, is_lack_of_memory};

use crate::{
    cache::CacheError,
    engine::EngineError,
    executable::TRAP,
    fault::{Exit, Fault},
};

/// The stage of a job in which an error arose.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Making the keys of the application's circuit.
    AppKeygen,
    /// Making or loading the keys of the aggregation circuits.
    AggregationKeygen,
    /// Opening the device.
    OpenDevice,
    /// Building the virtual machine.
    BuildMachine,
    /// Committing the program.
    CommitProgram,
    /// Turning an ELF into an executable.
    Transpile,
    /// Running the program.
    Execute,
    /// Running segment `0` of the program again, with records.
    Preflight(usize),
    /// Making the traces of segment `0`.
    Traces(usize),
    /// Proving segment `0`.
    ProveSegment(usize),
    /// Making the root circuit and its key.
    RootKeygen,
    /// Proving an aggregated proof by the root circuit.
    Root,
    /// Proving node `node` of an aggregation layer.
    Aggregate { layer: String, node: usize },
    /// Work of a proof's threads besides the other stages.
    Pipeline,
    /// Verifying.
    Verify,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AppKeygen => f.write_str("application key generation"),
            Self::AggregationKeygen => f.write_str("aggregation key generation"),
            Self::RootKeygen => f.write_str("root key generation"),
            Self::Root => f.write_str("the root proof"),
            Self::OpenDevice => f.write_str("opening the device"),
            Self::BuildMachine => f.write_str("building the virtual machine"),
            Self::CommitProgram => f.write_str("committing the program"),
            Self::Transpile => f.write_str("transpiling"),
            Self::Execute => f.write_str("executing"),
            Self::Preflight(segment) => write!(f, "preflight of segment {segment}"),
            Self::Traces(segment) => write!(f, "traces of segment {segment}"),
            Self::ProveSegment(segment) => write!(f, "proving segment {segment}"),
            Self::Aggregate { layer, node } => write!(f, "proving node {node} of layer {layer}"),
            Self::Pipeline => f.write_str("proving"),
            Self::Verify => f.write_str("verifying"),
        }
    }
}

/// Errors of executing, proving or verifying a program. Sizes are in bytes, counts in instructions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SdkError {
    /// An `openvm.toml` that does not parse, or settings that contradict each other.
    #[error("configuration: {0}")]
    Config(String),
    /// A configuration that was found beside a program, where another user may have put it.
    #[error(
        "the configuration {} was found beside the program, and {reason}: it may be another's; if you mean it, name it as the program's \
         configuration (--config, `config=`)",
        path.display()
    )]
    ForeignConfig { path: PathBuf, reason: String },
    /// The cache folder cannot be listed or cleared. Proofs do without it.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A file that cannot be read, or does not hold what its use expects.
    #[error("{}: not usable as {what}: {reason}", path.display())]
    File {
        path: PathBuf,
        what: &'static str,
        reason: String,
    },
    /// A file that cannot be written.
    #[error("{}: {what} cannot be written: {source}", path.display())]
    Write {
        path: PathBuf,
        what: &'static str,
        #[source]
        source: std::io::Error,
    },
    /// Bytes that do not hold what their use expects.
    #[error("{what} cannot be taken from bytes: {reason}")]
    Bytes { what: &'static str, reason: String },
    /// Bytes that are not an ELF for this machine.
    #[error(
        "not a guest's ELF: {0} (expected is a static 32-bit little-endian RISC-V executable; \
         build guests for riscv32im)"
    )]
    Elf(String),
    /// A word of the code that is no instruction of the configuration.
    #[error(
        "the word {word:#010x} at pc {pc:#010x} {reason}{}",
        extension.as_ref().map_or_else(String::new, |name| format!(
            ": it belongs to the extension `{name}`, add [app_vm_config.{name}] to openvm.toml"
        ))
    )]
    UnknownInstruction {
        pc: u32,
        word: u32,
        /// The extension that knows the instruction, as `openvm.toml` names it.
        extension: Option<&'static str>,
        /// Description of the fault; follows "the word".
        reason: &'static str,
    },
    /// An executable that does not fit the configuration.
    #[error("the executable does not fit the configuration: {0}")]
    Executable(String),
    /// The guest ended with an exit code other than 0, by the instruction at `pc`.
    #[error("the guest ended with exit code {code} at pc {pc:#010x}: {}", reason_of_exit(*code))]
    GuestExit { code: u32, pc: u32 },
    /// The guest panicked.
    #[error("the guest panicked at pc {pc:#010x}")]
    GuestPanic { pc: u32 },
    /// The guest asked for more input than it was given.
    #[error(
        "the guest reads past its input at pc {pc:#010x}: {given} inputs were given; \
         each read of the guest takes one"
    )]
    InputExhausted { pc: u32, given: usize },
    /// The guest has an instruction at `pc` that cannot be executed with its operands, nor proved.
    #[error("the guest failed at pc {pc:#010x}: it {fault}")]
    GuestFault {
        pc: u32,
        #[source]
        fault: Fault,
    },
    /// The receiver of what the guest prints refused it.
    #[error("what the guest prints cannot be written: {0}")]
    GuestOutput(#[source] std::io::Error),
    /// The guest did not end within the bound.
    #[error("the guest did not end within {bound} instructions (after {executed}): raise the bound if it should")]
    InstructionBound { executed: u64, bound: u64 },
    /// The host may not hold one segment.
    #[error(
        "segment {segment}: its records and traces may take {} MiB of host memory, and {} MiB are allowed: allow more \
         (--host-memory, host_memory), or cut smaller segments (--segment-max-memory, segment_max_memory)",
        needed.div_ceil(1 << 20), bound >> 20
    )]
    HostMemory {
        segment: usize,
        /// Bytes, estimated from the heights and widths of its traces.
        needed: u64,
        /// Bytes that are allowed.
        bound: u64,
    },
    /// The system refused memory, or a thread, whose stack is memory, or the device refused memory to a library that panics then.
    #[error(
        "{stage}: out of memory: the system refuses memory or a thread, or the device memory; allow the process more, or need less: \
         smaller segments (--segment-max-memory, segment_max_memory), fewer threads (--machines, machines)"
    )]
    OutOfMemory { stage: Stage },
    /// Any other failure of the guest.
    #[error("{stage}: {source}")]
    Execution {
        stage: Stage,
        #[source]
        source: ExecutionError,
    },
    /// Traces that the circuit does not allow.
    #[error("{stage}: {source}")]
    Traces {
        stage: Stage,
        #[source]
        source: GenerationError,
    },
    /// Traces that break a constraint of the circuit.
    #[error("the traces break the constraints: {0}")]
    BrokenConstraint(#[source] Box<BrokenConstraint>),
    /// The virtual machine could not be built for the configuration.
    #[error("{stage}: {source}")]
    Machine {
        stage: Stage,
        #[source]
        source: Box<VirtualMachineError>,
    },
    /// The device refused or failed, or the engine refused its input.
    #[error("{stage}{}: {source}", on_device(device))]
    Engine {
        stage: Stage,
        /// The device that it was done on, if it was opened.
        device: Option<String>,
        #[source]
        source: EngineError,
    },
    /// A device computed something else than the first device did.
    #[error(
        "{stage} on {device}: it commits otherwise than the first device; its hardware or driver fails: \
         run `openvm-metal selftest` on it, and leave it out"
    )]
    Disagreement { stage: Stage, device: String },
    /// OpenVM's verifier does not accept what a device makes.
    #[error(
        "{stage} on {device}: OpenVM's verifier does not accept the proof ({reason}), and it was made again without success or no other \
         device is left; the hardware or driver of {device} fails: run `openvm-metal selftest` on it, and leave it out"
    )]
    FaultyDevice {
        stage: Stage,
        /// One, or two that made the same proof.
        device: String,
        reason: String,
    },
    /// A key that was made for another configuration.
    #[error(
        "{what} belongs to another configuration: {reason}; \
         make the keys again with this configuration, or use the configuration they were made with"
    )]
    ForeignKey { what: &'static str, reason: String },
    /// A verifying key that is not the key it is taken for.
    #[error(
        "{what} is refused: {reason}; make the key and the baseline yourself \
         (`openvm-metal keygen`, `setup`, `commit`), or take them from someone you trust"
    )]
    Key { what: &'static str, reason: String },
    /// Parameters with which proofs can be forged.
    #[error(
        "{what} gives {bits:.1} bits of security, at least {min:.0} are required: proofs with \
         such parameters can be forged; --allow-insecure (allow_insecure, min_security_bits) takes them all the \
         same, to try things out"
    )]
    Insecure {
        what: &'static str,
        bits: f64,
        /// The least that is accepted.
        min: f64,
    },
    /// A resume folder that is not of this job, or damaged.
    #[error("resume folder {}: {reason}", path.display())]
    Resume { path: PathBuf, reason: String },
    /// [`ProveOptions::cancel`](crate::ProveOptions) was set.
    #[error("cancelled")]
    Cancelled,
    /// Inputs of deferral circuits that a circuit refuses, or that are not those of the guest's calls.
    #[error("deferred computations: {0}")]
    Deferral(String),
    /// An application proof for a machine with deferral circuits: it would say nothing about what these computed.
    #[error(
        "{what} is of a machine with deferral circuits, and an application proof says nothing about what they computed: \
         prove with the circuits (`MetalSdk::prove_deferred`) and verify the aggregated proof (`openvm-metal verify stark`, `verify`)"
    )]
    DeferredUnproved {
        /// The key, baseline or configuration that names the circuits.
        what: &'static str,
    },
    /// No proofs of segments.
    #[error("there are no proofs of segments to aggregate")]
    NothingToAggregate,
    /// Something that this SDK does not do.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// A plan that cannot be read, is of another job, or has no such task.
    #[error("the plan does not fit: {0}")]
    Plan(String),
    /// A proof that is not the proof of a task.
    #[error("what was made for {task} is not accepted: {reason}")]
    WrongProof { task: String, reason: String },
    /// A proof that does not verify, or is not of this program.
    #[error("the proof is not accepted: {0}")]
    Rejected(#[source] Box<dyn Error + Send + Sync>),
    /// An application proof that does not verify, or is not of this program.
    #[error("the application proof is not accepted: {0}")]
    AppRejected(String),
    /// A root proof that does not verify, or is not of this program; an aggregated proof that has none.
    #[error("the root proof is not accepted: {0}")]
    RootRejected(String),
    /// OpenVM's verifier panicked on a proof or a key.
    #[error("the proof is not accepted: OpenVM's verifier cannot work with it or its key: one of them is damaged or forged")]
    Unverifiable {
        /// The text of the panic, for logs.
        message: String,
    },
    /// A library of OpenVM panicked.
    #[error("{stage}{}: OpenVM's libraries gave up: {message}", on_device(device))]
    Panicked {
        stage: Stage,
        /// The device that it was done on, if there was one.
        device: Option<String>,
        message: String,
    },
}

fn on_device(device: &Option<String>) -> String {
    device
        .as_ref()
        .map_or_else(String::new, |name| format!(" on {name}"))
}

impl SdkError {
    pub(crate) fn engine(stage: Stage) -> impl FnOnce(EngineError) -> Self {
        move |source| Self::Engine {
            stage,
            device: None,
            source,
        }
    }

    /// The error of the runtime, if this is one.
    pub fn device_error(&self) -> Option<&MetalError> {
        let Self::Engine { source, .. } = self else {
            return None;
        };
        source.downcast_ref::<MetalProverError>()?.device_error()
    }

    /// Names the device, unless one is named.
    pub(crate) fn on(mut self, name: &str) -> Self {
        if let Self::Engine { device, .. } | Self::Panicked { device, .. } = &mut self {
            device.get_or_insert_with(|| name.to_owned());
        }
        self
    }

    pub(crate) fn machine(
        stage: Stage,
        error: impl Into<VirtualMachineError>,
        inputs: usize,
    ) -> Self {
        match error.into() {
            VirtualMachineError::Execution(source) => Self::execution(stage, source, inputs),
            VirtualMachineError::Generation(source) => Self::Traces { stage, source },
            other => Self::Machine {
                stage,
                source: Box::new(other),
            },
        }
    }

    /// The user's terms for what went wrong in a guest that was given `inputs` inputs.
    pub(crate) fn execution(stage: Stage, error: ExecutionError, inputs: usize) -> Self {
        let fault = |pc, fault| Self::GuestFault { pc, fault };
        match error {
            ExecutionError::Fail { pc, msg } if msg.contains("DebugPanic") => {
                Self::GuestPanic { pc }
            }
            ExecutionError::Fail { pc, msg } => fault(pc, Fault::Operands { reason: msg.into() }),
            ExecutionError::HintOutOfBounds { pc } => Self::InputExhausted { pc, given: inputs },
            ExecutionError::HintBufferZeroWords { pc } => fault(pc, Fault::hint_words(0)),
            ExecutionError::HintBufferTooLarge { pc, num_words, .. } => {
                fault(pc, Fault::hint_words(num_words))
            }
            ExecutionError::PcOutOfBounds(pc) | ExecutionError::Unreachable(pc) => {
                fault(pc, Fault::NoInstruction)
            }
            ExecutionError::Phantom { pc, inner, .. } => Self::phantom(pc, inner, inputs),
            source => Self::Execution { stage, source },
        }
    }

    /// The error of a phantom instruction, or of a check in front of any other.
    fn phantom(pc: u32, inner: eyre::Report, inputs: usize) -> Self {
        let inner = match inner.downcast::<Fault>() {
            Ok(fault) => return Self::GuestFault { pc, fault },
            Err(inner) => inner,
        };
        let inner = match inner.downcast::<Exit>() {
            Ok(Exit(code)) => return Self::GuestExit { code, pc },
            Err(inner) => inner,
        };
        let inner = match inner.downcast::<std::io::Error>() {
            Ok(error) => return Self::GuestOutput(error),
            Err(inner) => inner,
        };
        let reason = inner.to_string();
        match reason.contains("EndOfInputStream") {
            true => Self::InputExhausted { pc, given: inputs },
            false => Self::GuestFault {
                pc,
                fault: Fault::Operands { reason },
            },
        }
    }

    /// The address of the guest's instruction that failed or ended it, if it is the guest's error.
    pub fn pc(&self) -> Option<u32> {
        match self {
            Self::GuestExit { pc, .. }
            | Self::GuestPanic { pc }
            | Self::GuestFault { pc, .. }
            | Self::InputExhausted { pc, .. }
            | Self::UnknownInstruction { pc, .. } => Some(*pc),
            _ => None,
        }
    }
}

/// The usual reason of an exit code other than 0, and what to do.
fn reason_of_exit(code: u32) -> &'static str {
    match code {
        TRAP => {
            "it called abort, reached code that it takes for unreachable, or has an instruction for an operating system or \
             a debugger there (ecall: there are no system calls; ebreak; CSRs)"
        }
        _ => "it panicked or called exit; what it printed before says why",
    }
}

impl From<VerifyError> for SdkError {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::Bytes { what, reason } => Self::Bytes { what, reason },
            VerifyError::Key { what, reason } => Self::Key { what, reason },
            VerifyError::Insecure { what, bits, min } => Self::Insecure { what, bits, min },
            VerifyError::Rejected(reason) => Self::Rejected(Box::new(reason)),
            VerifyError::Unverifiable { message } => Self::Unverifiable { message },
            VerifyError::OutOfMemory => Self::OutOfMemory {
                stage: Stage::Verify,
            },
            other => Self::Rejected(Box::new(other)),
        }
    }
}

/// Runs a function of OpenVM's libraries, some of which panic on bad input, and makes an error of a panic.
///
/// What `f` was working on must not be used again if it panicked; callers drop it.
pub(crate) fn guard<T>(stage: Stage, f: impl FnOnce() -> T) -> Result<T, SdkError> {
    catch_panic(f).map_err(|message| {
        if is_lack_of_memory(&message) {
            SdkError::OutOfMemory { stage }
        } else if stage == Stage::Verify {
            SdkError::Unverifiable { message }
        } else {
            SdkError::Panicked {
                stage,
                device: None,
                message,
            }
        }
    })
}
