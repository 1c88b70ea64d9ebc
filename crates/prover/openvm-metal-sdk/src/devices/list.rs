//! `DeviceList`: the devices that a user names.

use std::{fmt, str::FromStr};

use openvm_metal_common::{devices_for, Device, DeviceKind, DeviceReport, MetalError};

use crate::engine::{MetalEngine, SdkEngine, LIBRARIES};

/// Devices as a user names them: `auto`, or names separated by commas as in `cuda:0,cuda:1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceList {
    /// All GPUs of this machine; the processor if there is none.
    Auto,
    /// These, in this order. At least one.
    Named(Vec<Device>),
}

impl DeviceList {
    /// The devices. For `auto` this looks for GPUs; if there is none, `say` gets the reasons.
    pub fn resolve(&self, say: impl FnOnce(&str)) -> Vec<Device> {
        match self {
            Self::Named(devices) => devices.clone(),
            Self::Auto => of_reports(&devices_for(&LIBRARIES), say),
        }
    }
}

fn of_reports(reports: &[DeviceReport], say: impl FnOnce(&str)) -> Vec<Device> {
    let gpus = || reports.iter().filter(|r| r.kind != DeviceKind::Cpu);
    let found: Vec<Device> = gpus()
        .filter(|r| r.info.is_some())
        .map(|r| r.device)
        .collect();
    if !found.is_empty() {
        return found;
    }
    let missing: Vec<String> = gpus()
        .map(|r| {
            format!(
                "{}: {}",
                r.device,
                r.missing.as_deref().unwrap_or("unknown")
            )
        })
        .collect();
    say(&format!(
        "no GPU, the processor proves ({})",
        missing.join("; ")
    ));
    vec![Device::Cpu]
}

/// Errors of a list of devices.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceListError {
    /// A name that no device has.
    #[error(transparent)]
    Unknown(#[from] MetalError),
    /// Devices that cannot prove together.
    #[error("{0}")]
    Together(String),
}

impl FromStr for DeviceList {
    type Err = DeviceListError;

    fn from_str(text: &str) -> Result<Self, DeviceListError> {
        if text.trim().eq_ignore_ascii_case("auto") {
            return Ok(Self::Auto);
        }
        let devices: Vec<Device> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        match MetalEngine::refusal(&devices) {
            Some(reason) => Err(DeviceListError::Together(reason)),
            None => Ok(Self::Named(devices)),
        }
    }
}

impl fmt::Display for DeviceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Named(devices) => {
                let names: Vec<String> = devices.iter().map(Device::to_string).collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        let read = |text: &str| text.parse::<DeviceList>().unwrap();
        let list = |devices: &[Device]| DeviceList::Named(devices.to_vec());
        assert_eq!(read("auto"), DeviceList::Auto);
        assert_eq!(
            read("cuda:0,cuda:1"),
            list(&[Device::Cuda(0), Device::Cuda(1)])
        );
        assert_eq!(read("cpu, cpu"), list(&[Device::Cpu, Device::Cpu]));
        assert_eq!(read("metal"), list(&[Device::Metal]));
        for bad in ["", ",", "cuda,", "gpu", "cuda:x"] {
            assert!(bad.parse::<DeviceList>().is_err(), "{bad}");
        }
        for (text, reason) in [
            ("auto,cpu", "auto stands alone"),
            ("cuda,cpu,cuda:0", "cuda is named twice"),
            ("metal,metal", "metal is named twice"),
        ] {
            let error = text.parse::<DeviceList>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        assert_eq!(read("cuda:0,cuda:1,cpu").to_string(), "cuda,cuda:1,cpu");
        assert_eq!(DeviceList::Auto.to_string(), "auto");
    }

    #[test]
    fn auto_is_every_gpu_or_the_processor_which_is_said() {
        let cpu = devices_for(&[])
            .into_iter()
            .find(|report| report.kind == DeviceKind::Cpu)
            .unwrap();
        let gpu = |device, found: bool| DeviceReport {
            kind: DeviceKind::Cuda,
            device,
            info: cpu.info.clone().filter(|_| found),
            missing: (!found).then(|| "no driver".into()),
            default: false,
        };
        let both = [
            gpu(Device::Metal, false),
            gpu(Device::Cuda(0), true),
            gpu(Device::Cuda(1), true),
            cpu.clone(),
        ];
        let found = of_reports(&both, |_| panic!("nothing is missing"));
        assert_eq!(found, [Device::Cuda(0), Device::Cuda(1)]);

        let mut said = String::new();
        let none = [gpu(Device::Cuda(0), false), cpu];
        let found = of_reports(&none, |text| said = text.to_owned());
        assert_eq!(found, [Device::Cpu]);
        assert!(said.contains("cuda: no driver"), "{said}");
    }
}
