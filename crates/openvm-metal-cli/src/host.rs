//! What a report says about the machine besides the device.

use serde::Serialize;

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

#[cfg(target_os = "macos")]
fn os_name() -> String {
    let version = std::process::Command::new("sw_vers")
        .arg("-productVersion")
        .output();
    match version {
        Ok(out) if out.status.success() => {
            format!("macOS {}", String::from_utf8_lossy(&out.stdout).trim())
        }
        _ => "macOS".to_owned(),
    }
}

#[cfg(not(target_os = "macos"))]
fn os_name() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let pretty = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="));
    match pretty {
        Some(name) => name.trim_matches('"').to_owned(),
        None => std::env::consts::OS.to_owned(),
    }
}
