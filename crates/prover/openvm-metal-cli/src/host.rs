//! Facts about the machine besides the device, for reports.

use std::process::Command;

use serde::Serialize;

/// Commit that this program was built from; the scripts that build it set `OPENVM_METAL_COMMIT`.
pub const COMMIT: &str = match option_env!("OPENVM_METAL_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// Operating system, architecture and version of this program.
#[derive(Clone, Debug, Serialize)]
pub struct HostReport {
    /// Version of `openvm-metal`.
    pub version: &'static str,
    /// Name and version of the operating system.
    pub os: String,
    /// Processor architecture the program was built for.
    pub arch: &'static str,
    /// Threads the host may use.
    pub threads: usize,
}

impl HostReport {
    /// Asks the system.
    pub fn gather() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            os: os_name(),
            arch: std::env::consts::ARCH,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Name of the processor, and what else the system tells about the machine.
pub fn hardware() -> Vec<(&'static str, String)> {
    let facts = if cfg!(target_os = "macos") {
        let cores = [
            "hw.perflevel0.physicalcpu",
            "hw.perflevel1.physicalcpu",
            "hw.physicalcpu",
        ];
        let cores = cores.map(|name| sysctl(name).unwrap_or_else(|| "?".into()));
        vec![
            ("chip", sysctl("machdep.cpu.brand_string")),
            ("model", sysctl("hw.model")),
            (
                "cores",
                Some(format!(
                    "{} fast, {} efficient, {} in all",
                    cores[0], cores[1], cores[2]
                )),
            ),
            ("build of the system", output("sw_vers", &["-buildVersion"])),
            ("virtual machine", sysctl("kern.hv_vmm_present")),
        ]
    } else {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line = info.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        vec![("chip", field("model name").or_else(|| field("Model")))]
    };
    facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// Most bytes of memory that this process has held so far, if the system tells.
#[cfg(unix)]
pub fn peak_memory() -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is one `rusage`, which the call writes whole when it returns 0; zeros are a valid one anyway.
    let usage = unsafe {
        match libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) {
            0 => usage.assume_init(),
            _ => return None,
        }
    };
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    Some(u64::try_from(usage.ru_maxrss).ok()? * unit)
}

/// Most bytes of memory that this process has held so far, if the system tells.
#[cfg(not(unix))]
pub fn peak_memory() -> Option<u64> {
    None
}

fn sysctl(name: &str) -> Option<String> {
    output("/usr/sbin/sysctl", &["-n", name])
}

/// Output of a command, if it succeeds.
fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

fn os_name() -> String {
    if cfg!(target_os = "macos") {
        return match output("/usr/bin/sw_vers", &["-productVersion"]) {
            Some(version) => format!("macOS {version}"),
            None => "macOS".to_owned(),
        };
    }
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let pretty = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="));
    match pretty {
        Some(name) => name.trim_matches('"').to_owned(),
        None => std::env::consts::OS.to_owned(),
    }
}
