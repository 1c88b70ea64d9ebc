//! Errors of a command, with its exit status and a remedy.

use std::path::PathBuf;

use openvm_metal_backend::MetalProverError;
use openvm_metal_common::MetalError;
use openvm_metal_profile::ProfileError;
use openvm_metal_sdk::{guest::GuestError, SdkError};

/// Result of a command.
pub type Result<T, E = CliError> = std::result::Result<T, E>;

/// A result that was not written where it should be.
#[derive(Debug)]
pub struct Misplaced {
    /// The reason.
    pub error: SdkError,
    /// The file instead; nothing if no other place took it either.
    pub kept: Option<PathBuf>,
}

/// Errors of a command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The runtime or a kernel failed.
    #[error(transparent)]
    Metal(#[from] MetalError),
    /// A prover phase failed.
    #[error(transparent)]
    Prover(#[from] MetalProverError),
    /// A program could not be executed, proved or verified.
    #[error(transparent)]
    Sdk(#[from] SdkError),
    /// A proof for the EVM could not be made or verified.
    #[cfg(feature = "evm")]
    #[error(transparent)]
    Evm(#[from] openvm_metal_evm::EvmError),
    /// A build without proofs for the EVM.
    #[cfg(not(feature = "evm"))]
    #[error(
        "this build has no proofs for the EVM, which add about a hundred crates: build it with \
         `--features evm` (docs/guide/evm.md)"
    )]
    NoEvm,
    /// A guest failed at a known place of its source.
    #[error("{error}\nat {place}")]
    At { error: Box<SdkError>, place: String },
    /// Costs could not be recorded or written.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A guest could not be made or built.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// A host program without a crate to depend on.
    #[error("{}: not the folder of the crate openvm-metal-sdk", .0.display())]
    NoSdk(PathBuf),
    /// An executable that differs from the build of the guest's sources.
    #[error("{}: differs from the build of the guest's sources: {}", path.display(), reasons.join("; "))]
    NotReproduced { path: PathBuf, reasons: Vec<String> },
    /// A path without a program.
    #[error("{}: no such program (a guest's folder, an ELF, or a .vmexe)", .0.display())]
    NoProgram(PathBuf),
    /// A configuration that does not parse.
    #[error("configuration: {0}")]
    Config(String),
    /// An input that is not of cargo-openvm's form.
    #[error("input: {0}")]
    Input(String),
    /// A filter without a match.
    #[error("no {what} matches '{filter}'; there are: {available}")]
    NothingSelected {
        what: &'static str,
        filter: String,
        available: String,
    },
    /// Checks failed; the table has said which.
    #[error("{failed} of {total} checks failed")]
    ChecksFailed { failed: usize, total: usize },
    /// An engine of OpenVM failed.
    #[cfg(feature = "reference")]
    #[error("{engine}: {message}")]
    Engine {
        engine: &'static str,
        message: String,
    },
    /// A key that nothing is known of, so that a proof under it says nothing.
    #[error("{}: a key of unknown origin can be the key of any circuit: {remedy}", path.display())]
    UntrustedKey { path: PathBuf, remedy: &'static str },
    /// A contract that nothing is known of, so that its answer says nothing.
    #[cfg(feature = "evm")]
    #[error("{}: a contract of unknown origin can accept any proof: {remedy}", path.display())]
    UntrustedContract { path: PathBuf, remedy: &'static str },
    /// A key with another hash than the expected one.
    #[error("{}: its hash is {found}, expected is {expected}", path.display())]
    OtherKey {
        path: PathBuf,
        found: String,
        expected: String,
    },
    /// A proof of another program, or of another virtual machine.
    #[error("the {what} is {found}, expected is {expected}: another one, or the same under other parameters (openvm.toml, --toy)")]
    OtherProgram {
        what: &'static str,
        found: String,
        expected: String,
    },
    /// The verifier does not accept the proof.
    #[error("the proof is not valid: {0}")]
    Rejected(String),
    /// A file that cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        path: String,
        source: std::io::Error,
    },
    /// More rows than the parameters allow.
    #[error("{circuit} of size {size} needs {rows} rows, the stacked height is 2^{log_stacked}")]
    TooTall {
        circuit: String,
        size: usize,
        /// `2^n`, or that there is no such number.
        rows: String,
        log_stacked: u8,
    },
    /// Traces that this machine cannot hold.
    #[error("{circuit} of size {size}: traces and a copy of them need {needed}, the machine has {memory}")]
    HostMemory {
        circuit: String,
        size: usize,
        needed: String,
        memory: String,
    },
    /// Two files of a command that are one, of which the command writes at least one.
    #[error("{} and {} are the same file: {}", names[0], names[1], path.display())]
    SameFile {
        names: [&'static str; 2],
        path: PathBuf,
    },
    /// A file of results that is a program.
    #[error(
        "{name} would write over {}, which is a program: the word after {name} is the file that it writes",
        path.display()
    )]
    OverProgram { name: &'static str, path: PathBuf },
    /// A link in the path of a result that goes to a guest's folder, whose owner may have made it.
    #[error(
        "{}: {} is a link, and nothing is written through links in a guest's folder: remove it, or name another folder ({})",
        path.display(), link.display(), remedy
    )]
    Link {
        path: PathBuf,
        link: PathBuf,
        /// The options that name another folder.
        remedy: &'static str,
    },
    /// Results that were not written where they should be.
    #[error("{}", misplaced(.0))]
    Misplaced(Vec<Misplaced>),
    /// Options that contradict each other.
    #[error("{0}")]
    Usage(&'static str),
    /// A file that cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        path: String,
        source: std::io::Error,
    },
    /// A report that names failures.
    #[error("{failed} of {total} items failed; {report} has them all")]
    ReportFailures {
        failed: usize,
        total: usize,
        report: String,
    },
    /// The Python package that proves on a cluster is not installed.
    #[error(
        "openvm-metal-cluster, the command of the Python package openvm-metal, is not installed"
    )]
    NoClusterCommand,
    /// The command of the Python package failed, and has said why.
    #[error("openvm-metal-cluster ended with status {0}")]
    Cluster(u8),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The signal handler could not be installed: it has a thread of its own.
    #[error("{}", signal(.0))]
    Signal(#[from] ctrlc::Error),
    /// Standard output could not be written.
    #[error("cannot write: {0}")]
    Output(std::io::Error),
    /// A report could not be turned into JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// A line for each result.
fn misplaced(results: &[Misplaced]) -> String {
    let line = |result: &Misplaced| match &result.kept {
        Some(kept) => format!("{}; it is kept as {}", result.error, kept.display()),
        None => format!(
            "{}; no other place takes it either, it is lost",
            result.error
        ),
    };
    results.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The text of [`CliError::Signal`].
fn signal(error: &ctrlc::Error) -> String {
    match is_refusal(error) {
        true => {
            format!("out of memory: the system refuses the thread that waits for Ctrl-C ({error})")
        }
        false => format!("cannot catch Ctrl-C: {error}"),
    }
}

/// True if the system refuses the thread: threads are memory.
fn is_refusal(error: &ctrlc::Error) -> bool {
    matches!(error, ctrlc::Error::System(_))
}

impl CliError {
    /// Status of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NothingSelected { .. } | Self::Usage(_) => 2,
            Self::SameFile { .. } | Self::OverProgram { .. } => 2,
            Self::TooTall { .. } | Self::HostMemory { .. } => 2,
            Self::NoProgram(_) | Self::Config(_) | Self::Input(_) => 2,
            Self::Sdk(SdkError::ForeignConfig { .. }) => 2,
            Self::Link { .. } => 2,
            Self::Metal(MetalError::UnknownDevice { .. }) => 2,
            Self::Interrupted => 130,
            Self::Cluster(status) => *status,
            _ => 1,
        }
    }

    /// The error of the runtime, if this is one.
    pub fn device_error(&self) -> Option<&MetalError> {
        match self {
            Self::Metal(error) => Some(error),
            Self::Prover(error) => error.device_error(),
            Self::Sdk(error) => error.device_error(),
            _ => None,
        }
    }

    /// True if a smaller task, or a machine with more memory, would not have this error.
    pub fn is_lack_of_memory(&self) -> bool {
        matches!(
            self.device_error(),
            Some(MetalError::OutOfMemory { .. } | MetalError::BufferTooLarge { .. })
        ) || matches!(self, Self::Prover(MetalProverError::MemoryBudget { .. }))
            || matches!(self, Self::Signal(error) if is_refusal(error))
            || matches!(self, Self::Sdk(SdkError::HostMemory { .. }))
    }

    /// True if standard output is a pipe that nobody reads any more.
    pub fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Output(error) | Self::Sdk(SdkError::GuestOutput(error)) => {
                error.kind() == std::io::ErrorKind::BrokenPipe
            }
            _ => false,
        }
    }

    /// True if nothing needs to be printed: a closed pipe is how `| head` ends a program, and another command printed its own error.
    pub fn is_silent(&self) -> bool {
        self.is_closed_pipe() || matches!(self, Self::Cluster(_))
    }

    /// Remedy for the user.
    pub fn hint(&self) -> Option<&'static str> {
        if let Some(error) = self.device_error() {
            return match error {
                MetalError::DeviceUnavailable { .. } | MetalError::UnknownDevice { .. } => {
                    Some("`openvm-metal devices` lists what this machine has")
                }
                MetalError::OutOfMemory { .. } | MetalError::BufferTooLarge { .. } => match self {
                    Self::Sdk(_) => Some("smaller segments need less (--segment-max-memory 4G); `openvm-metal devices` shows the budget"),
                    _ => Some("a smaller size needs less; `openvm-metal devices` shows the budget"),
                },
                MetalError::KernelCompile { .. }
                | MetalError::KernelMissing { .. }
                | MetalError::KernelLeftOut { .. }
                | MetalError::SubmissionFailed { .. }
                | MetalError::DeviceLost { .. } => {
                    Some("`openvm-metal report` writes the report to post")
                }
                _ => None,
            };
        }
        if let Self::At { error, .. } = self {
            return hint_of_guest(error);
        }
        match self {
            Self::Sdk(error) if hint_of_guest(error).is_some() => hint_of_guest(error),
            Self::TooTall { .. } => {
                Some("a larger --log-stacked (at most 24) or fewer --permutations")
            }
            Self::HostMemory { .. } => Some("fewer --permutations"),
            Self::Prover(MetalProverError::MemoryBudget { .. }) => Some(
                "a smaller size needs less; `openvm-metal devices` shows the budget, \
                 OPENVM_METAL_MEMORY_BUDGET sets it",
            ),
            Self::NoClusterCommand => {
                Some("`pip install './crates/prover/openvm-metal-py[ray]'` in the repository installs it, with Ray (docs/guide/cluster.md)")
            }
            Self::ChecksFailed { .. } => Some("`openvm-metal report` writes the report to post"),
            _ => None,
        }
    }
}

fn hint_of_guest(error: &SdkError) -> Option<&'static str> {
    match error {
        SdkError::InputExhausted { given: 0, .. } => {
            Some("--input gives the program what it reads: a value in hexadecimal or a file")
        }
        SdkError::GuestExit { .. } | SdkError::GuestFault { .. } | SdkError::GuestPanic { .. } => {
            Some("`openvm-metal run --debug` shows the instructions and registers before")
        }
        _ => None,
    }
}
