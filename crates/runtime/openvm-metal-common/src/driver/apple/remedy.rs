//! A remedy for each way in which Metal refuses work.

/// Consequence of a command buffer's error for the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The work failed; another process, or a smaller proof, may succeed.
    Failed,
    /// The device is gone.
    Lost,
}

/// A code of `MTLCommandBufferError`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommandBufferError {
    pub code: isize,
    pub name: &'static str,
    pub severity: Severity,
    pub remedy: &'static str,
}

const fn failed(code: isize, name: &'static str, remedy: &'static str) -> CommandBufferError {
    CommandBufferError {
        code,
        name,
        severity: Severity::Failed,
        remedy,
    }
}

const TOO_LONG: &str =
    "the system ends GPU work that takes too long: close programs that use the GPU, or make a \
                        smaller proof";
const OUTSIDE: &str = "a kernel used memory outside its buffers: run again with MTL_SHADER_VALIDATION=1, which names \
                       the place, and please report it with `openvm-metal selftest --json`";
const REVOKED: &str =
    "after GPU errors the system refuses all work of a process: start it again, and look at its \
                       first error, which is the cause";
const NO_MEMORY: &str =
    "the GPU had no memory left: set OPENVM_METAL_MEMORY_BUDGET lower, or close other programs";
const INTERNAL: &str =
    "Metal has no name for it: start the program again; if it stays, restart the Mac, and please \
                        report it with `openvm-metal selftest --json`";

/// Every code that Metal documents.
pub(crate) const COMMAND_BUFFER_ERRORS: [CommandBufferError; 11] = [
    failed(0, "None", INTERNAL),
    failed(1, "Internal", INTERNAL),
    failed(2, "Timeout", TOO_LONG),
    failed(3, "PageFault", OUTSIDE),
    failed(4, "AccessRevoked", REVOKED),
    failed(
        7,
        "NotPermitted",
        "this process may not use the GPU: run it outside of its sandbox, or in the session of a user who is logged in",
    ),
    failed(8, "OutOfMemory", NO_MEMORY),
    failed(
        9,
        "InvalidResource",
        "a buffer was gone before the work that uses it ran: please report it with `openvm-metal selftest --json`",
    ),
    failed(
        10,
        "Memoryless",
        "it belongs to rendering, which is not used here: please report it with `openvm-metal selftest --json`",
    ),
    CommandBufferError {
        code: 11,
        name: "DeviceRemoved",
        severity: Severity::Lost,
        remedy: "the GPU was disconnected: connect it again and start the program again",
    },
    failed(
        12,
        "StackOverflow",
        "a kernel needs more stack than there is: please report it with `openvm-metal selftest --json`",
    ),
];

/// The system's own name for what happened, which stands in the text of an error: `kIOGPUCommandBufferCallbackError`
/// and one of these (older systems: `kIOAccel...`). Several share code 1 of Metal's.
const SYSTEM_REASONS: [(&str, &str); 9] = [
    ("ImpactingInteractivity", TOO_LONG),
    ("Timeout", TOO_LONG),
    (
        "Hang",
        "the GPU stopped in a kernel and was reset: please report it with `openvm-metal selftest --json`",
    ),
    (
        "InnocentVictim",
        "other work stopped the GPU, of this process or of another program: start the program again",
    ),
    ("SubmissionsIgnored", REVOKED),
    ("OutOfMemory", NO_MEMORY),
    ("PageFault", OUTSIDE),
    ("InvalidResource", OUTSIDE),
    (
        "StackOverflow",
        "a kernel needs more stack than there is: please report it with `openvm-metal selftest --json`",
    ),
];
const SYSTEM_PREFIX: &str = "CommandBufferCallbackError";

/// Description of the error and its remedy. `code` is given for errors of Metal's command buffer domain.
pub(crate) fn command_buffer(code: Option<isize>, text: &str) -> (Severity, &'static str) {
    let known = code.and_then(|code| COMMAND_BUFFER_ERRORS.iter().find(|e| e.code == code));
    let severity = known.map_or(Severity::Failed, |error| error.severity);
    // The system's name is more precise than Metal's code.
    let system = text.find(SYSTEM_PREFIX).and_then(|at| {
        let name = &text[at + SYSTEM_PREFIX.len()..];
        SYSTEM_REASONS
            .iter()
            .find(|(known, _)| name.starts_with(known))
    });
    let remedy = match (system, known) {
        (Some((_, remedy)), _) => remedy,
        (None, Some(error)) => error.remedy,
        (None, None) => INTERNAL,
    };
    (severity, remedy)
}

/// Messages of Metal's compiler and of the making of pipelines: a part of the text, in lower case, and what to do.
/// The first that is found counts.
const COMPILER_REASONS: [(&str, &str); 11] = [
    (
        "xpc_error",
        "the system's compiler service died: start the program again; if one unit does it each time, its text is too \
         much for it, please report it",
    ),
    (
        "connection interrupted",
        "the system's compiler service died: start the program again",
    ),
    (
        "internal error",
        "the system's compiler failed on this text: please report it with the version of macOS",
    ),
    (
        "metal3.0",
        "the system's compiler does not know Metal 3.0: macOS 13 or newer is needed",
    ),
    (
        "language version",
        "the system's compiler does not know Metal 3.0: macOS 13 or newer is needed",
    ),
    (
        "language standard",
        "the system's compiler does not know Metal 3.0: macOS 13 or newer is needed",
    ),
    (
        "threadgroup memory",
        "the kernel needs more threadgroup memory than this GPU has; under MTL_SHADER_VALIDATION some is taken for \
         the checks",
    ),
    (
        "footprint limit",
        "the kernel is too large for this GPU: please report it",
    ),
    (
        "maxtotalthreadsperthreadgroup",
        "the kernel needs too many registers for the threads that it declares: please report it",
    ),
    (
        "air.version",
        "the library is of a newer compiler than the system: OPENVM_METAL_METALLIB=0 compiles the source",
    ),
    (
        "error:",
        "the text does not compile on this version of macOS: please report the message",
    ),
];

/// A message of the compiler with what to do about it.
pub(crate) fn compiler(message: &str) -> String {
    let lower = message.to_ascii_lowercase();
    match COMPILER_REASONS
        .iter()
        .find(|(part, _)| lower.contains(part))
    {
        Some((_, remedy)) => format!("{} ({remedy})", message.trim_end()),
        None => message.trim_end().to_owned(),
    }
}

/// Reasons why a system may have no Metal device for a process.
pub(crate) const NO_DEVICE: &str =
    "Metal shows no GPU to this process: in a virtual machine the host must pass a GPU through, in a sandbox the \
     profile must allow it, and daemons may have to run in the session of a user who is logged in (`launchctl asuser`); \
     `system_profiler SPDisplaysDataType` tells what the system has";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_and_a_remedy() {
        let mut codes: Vec<isize> = COMMAND_BUFFER_ERRORS.iter().map(|e| e.code).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12]);
        for error in COMMAND_BUFFER_ERRORS {
            assert!(error.remedy.len() > 20, "{error:?}");
            let (severity, remedy) = command_buffer(Some(error.code), "words");
            assert_eq!((severity, remedy), (error.severity, error.remedy));
        }
        let lost = COMMAND_BUFFER_ERRORS
            .iter()
            .filter(|e| e.severity == Severity::Lost);
        assert_eq!(lost.map(|e| e.name).collect::<Vec<_>>(), ["DeviceRemoved"]);
    }

    #[test]
    fn the_name_of_the_system_counts_more_than_the_code() {
        let text = "Impacting Interactivity (0000000e:kIOGPUCommandBufferCallbackErrorImpactingInteractivity)";
        assert_eq!(command_buffer(Some(1), text), (Severity::Failed, TOO_LONG));
        let text = "Ignored (for causing prior/excessive GPU errors) \
                    (00000004:kIOAccelCommandBufferCallbackErrorSubmissionsIgnored)";
        assert_eq!(command_buffer(Some(4), text).1, REVOKED);
        let text = "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)";
        assert_eq!(command_buffer(None, text).1, NO_MEMORY);
        let text =
            "Caused GPU Address Fault Error (0000000b:kIOGPUCommandBufferCallbackErrorPageFault)";
        assert_eq!(command_buffer(Some(3), text).1, OUTSIDE);
        let text = "what? (000000ff:kIOGPUCommandBufferCallbackErrorNew)";
        assert_eq!(command_buffer(Some(99), text), (Severity::Failed, INTERNAL));
        assert_eq!(command_buffer(Some(2), text).1, TOO_LONG);
    }

    #[test]
    fn messages_of_the_compiler() {
        let with = |message: &str| compiler(message);
        let died = with("Compilation failed with XPC_ERROR_CONNECTION_INTERRUPTED on 3 try");
        assert!(died.contains("compiler service died"), "{died}");
        let internal = with("Compiler encountered an internal error");
        assert!(internal.contains("version of macOS"), "{internal}");
        let text = with("program_source:3:7: error: unknown type name 'u32'\n");
        assert!(
            text.starts_with("program_source:3:7: error: unknown type name 'u32' (the text"),
            "{text}"
        );
        let memory = with("Threadgroup memory size (40000) exceeds the maximum threadgroup memory allowed (32768)");
        assert!(memory.contains("MTL_SHADER_VALIDATION"), "{memory}");
        assert_eq!(with("something new"), "something new");
    }

    #[test]
    fn a_missing_device_has_its_usual_causes() {
        for cause in ["virtual machine", "sandbox", "daemons"] {
            assert!(NO_DEVICE.contains(cause), "{cause}");
        }
    }
}
