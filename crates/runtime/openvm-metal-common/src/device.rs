//! Choice of a device, and the facts known about it.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::device_kind::DeviceKind;
use crate::device_profile::DeviceProfile;
use crate::error::{MetalError, Result};

/// The environment variable that chooses the device.
pub const DEVICE_VARIABLE: &str = "OPENVM_METAL_DEVICE";

/// A request for a device. `Auto` is the only one that may end on another kind than it names, and it
/// logs what it skipped and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Device {
    /// Metal on Apple systems, then CUDA if a driver answers, then the CPU.
    #[default]
    Auto,
    Metal,
    /// The NVIDIA GPU of this number, in the driver's order (`CUDA_VISIBLE_DEVICES` changes it): `cuda` is the
    /// first, `cuda:1` the second.
    Cuda(u32),
    Cpu,
    /// The CPU running every thread of a threadgroup as a coroutine with 32-lane simdgroups, poisoned
    /// threadgroup memory and detection of divergent barriers. Slow; for tests of kernels.
    CpuConformance,
}

impl Device {
    /// The choice in `OPENVM_METAL_DEVICE`, `Auto` if it is unset or empty.
    ///
    /// # Errors
    /// [`MetalError::UnknownDevice`] if it names no device.
    pub fn from_env() -> Result<Self> {
        match std::env::var(DEVICE_VARIABLE) {
            Ok(name) if !name.is_empty() => name.parse(),
            Ok(_) | Err(std::env::VarError::NotPresent) => Ok(Self::Auto),
            Err(std::env::VarError::NotUnicode(name)) => Err(MetalError::UnknownDevice {
                name: name.to_string_lossy().into_owned(),
            }),
        }
    }

    /// The CPU in conformance mode, see [`Device::CpuConformance`].
    pub fn cpu_conformance() -> Self {
        Self::CpuConformance
    }
}

impl FromStr for Device {
    type Err = MetalError;

    fn from_str(name: &str) -> Result<Self> {
        let lower = name.trim().to_ascii_lowercase();
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten()
        };
        let device = match lower.as_str() {
            "auto" => Some(Self::Auto),
            "metal" => Some(Self::Metal),
            "cuda" => Some(Self::Cuda(0)),
            "cpu" => Some(Self::Cpu),
            "cpu-conformance" => Some(Self::CpuConformance),
            other => other.strip_prefix("cuda:").and_then(number).map(Self::Cuda),
        };
        device.ok_or_else(|| MetalError::UnknownDevice {
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Metal => "metal",
            Self::Cuda(0) => "cuda",
            Self::Cuda(number) => return write!(f, "cuda:{number}"),
            Self::Cpu => "cpu",
            Self::CpuConformance => "cpu-conformance",
        })
    }
}

impl Serialize for Device {
    /// The name that [`Device::from_str`] reads.
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Facts about the device of a context. Decisions depend on its profile alone.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceInfo {
    /// Marketing name, for example "Apple M4 Max" or "NVIDIA H100 80GB HBM3".
    pub name: String,
    pub kind: DeviceKind,
    /// Driver, language or instruction-set details worth a line in a report.
    pub detail: String,
    /// Conformance mode, see [`Device::CpuConformance`].
    pub conformance: bool,
    /// Sizes, limits and rates: the device's own, or on the CPU those that it was given.
    pub profile: DeviceProfile,
}

impl DeviceInfo {
    /// False on a CPU that plans as another device would.
    pub fn has_own_profile(&self) -> bool {
        self.profile.name == self.kind.name()
    }
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GIB: f64 = (1u64 << 30) as f64;
        write!(
            f,
            "{} ({}{}; {}; {:.1} GiB, budget {:.1} GiB)",
            self.name,
            self.kind,
            if self.conformance {
                ", conformance mode"
            } else {
                ""
            },
            self.detail,
            self.profile.memory as f64 / GIB,
            self.profile.budget as f64 / GIB
        )
    }
}
