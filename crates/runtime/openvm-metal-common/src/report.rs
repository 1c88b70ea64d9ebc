//! Results of preparing a context's kernels: a row for each unit and each kernel.

use std::fmt;

use serde::Serialize;

use crate::device_kind::DeviceKind;

/// Every unit and kernel of a context's libraries, see [`MetalContext::kernel_report`](crate::MetalContext::kernel_report).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelReport {
    /// The device that prepared them.
    pub device: DeviceKind,
    /// Time of the start, and the caches that it found.
    pub start: StartReport,
    /// In the order of the libraries.
    pub units: Vec<UnitReport>,
}

/// Cost of preparing the kernels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartReport {
    /// Wall time for all units, saving included.
    pub milliseconds: f64,
    /// Machine code kept from start to start; absent where the program holds it (CPU).
    pub cache: Option<CacheReport>,
}

/// A folder with machine code of earlier starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheReport {
    /// The folder, if one is in use.
    pub folder: Option<String>,
    /// Units whose code was found there; unknown if the system's driver keeps the cache by itself.
    pub found: Option<usize>,
    /// Units whose code was saved there now.
    pub saved: usize,
    /// Time spent on saving, all threads together.
    pub saving_milliseconds: u64,
    /// Reason why there is no folder, and faults of its contents.
    pub notes: Vec<String>,
}

/// Origin of a unit's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeSource {
    /// Machine code in the program.
    Native,
    /// PTX in the program, compiled by the driver.
    Ptx,
    /// A Metal library in the program, made on the build machine.
    Metallib,
    /// Metal source in the program, compiled now.
    Source,
}

/// One `.metal` file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitReport {
    /// Name of the library that it belongs to.
    pub library: &'static str,
    /// Its own name, such as `hash/merkle`.
    pub unit: &'static str,
    /// Form of the code that the device was given.
    pub code: CodeSource,
    /// Machine code of an earlier start was taken for all its kernels.
    pub cached: bool,
    /// Time to prepare it; units are prepared several at a time.
    pub milliseconds: f64,
    /// Messages of a compiler that accepted the unit.
    pub warnings: Option<String>,
    /// Reason why it was not prepared, without a fault of it; then it has no rows for kernels.
    pub left_out: Option<String>,
    /// Reason why none of its kernels can run.
    pub error: Option<String>,
    /// In the order of the file.
    pub kernels: Vec<KernelState>,
}

/// One kernel of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelState {
    /// Name of the entry.
    pub kernel: &'static str,
    /// Most threads of a threadgroup that the kernel declares, 1024 without an attribute.
    pub declared_threads: u32,
    /// Bytes of the threadgroup arrays in its body as written.
    pub declared_threadgroup_bytes: u32,
    /// Limits and use of resources, if the kernel can run.
    pub limits: Option<KernelLimits>,
    /// Reason why it cannot run; that of the unit if that was refused.
    pub error: Option<String>,
}

/// Resources of a compiled kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KernelLimits {
    /// Most threads of a threadgroup; fewer than declared if registers are short.
    pub threads: u32,
    /// Bytes of the threadgroup arrays as laid out, if the device tells.
    pub threadgroup_bytes: Option<u32>,
    /// Registers of a thread, if the device tells.
    pub registers: Option<u32>,
    /// Bytes of a thread that found no register, if the device tells.
    pub spilled_bytes: Option<u32>,
}

impl KernelReport {
    /// Kernels that cannot run, each with its unit and the reason.
    pub fn missing(&self) -> impl Iterator<Item = (&UnitReport, &KernelState, &str)> {
        self.units.iter().flat_map(|unit| {
            unit.kernels
                .iter()
                .filter_map(move |kernel| Some((unit, kernel, kernel.error.as_deref()?)))
        })
    }

    /// True if every kernel can run.
    pub fn is_complete(&self) -> bool {
        self.missing().next().is_none()
    }

    /// Kernels that may have fewer threads in a threadgroup than they declare.
    pub fn narrow(&self) -> impl Iterator<Item = (&KernelState, KernelLimits)> {
        let kernels = self.units.iter().flat_map(|unit| &unit.kernels);
        kernels.filter_map(|kernel| {
            let limits = kernel.limits?;
            (limits.threads < kernel.declared_threads).then_some((kernel, limits))
        })
    }

    fn count(&self) -> usize {
        self.units.iter().map(|unit| unit.kernels.len()).sum()
    }
}

impl fmt::Display for KernelReport {
    /// One line: how many units and kernels, what is missing, how long it took.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prepared = self.units.iter().filter(|unit| unit.left_out.is_none());
        let (units, kernels) = (prepared.count(), self.count());
        write!(f, "{kernels} kernels of {units} units")?;
        let left_out = self.units.iter().filter(|unit| unit.left_out.is_some());
        let left_out = left_out.count();
        if left_out > 0 {
            write!(f, ", {left_out} units left out")?;
        }
        let missing = self.missing().count();
        if missing > 0 {
            let refused: Vec<&str> = self
                .units
                .iter()
                .filter(|unit| unit.kernels.iter().any(|kernel| kernel.error.is_some()))
                .map(|unit| unit.unit)
                .collect();
            write!(f, ", {missing} cannot run ({})", refused.join(", "))?;
        }
        write!(f, ", prepared in {:.0} ms", self.start.milliseconds)?;
        match &self.start.cache {
            Some(cache) => write!(f, "; {cache}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for CacheReport {
    /// One line: cold or warm, the folder, what was noted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.folder, self.found) {
            (None, _) => f.write_str("no cache")?,
            (Some(folder), None) => write!(f, "the driver's cache in {folder}")?,
            (Some(folder), Some(found)) => {
                let temperature = match (found, self.saved) {
                    (0, _) => "cold start",
                    (_, 0) => "warm start",
                    _ => "partly warm start",
                };
                write!(f, "{temperature}: {found} units found in {folder}")?;
                if self.saved > 0 {
                    let ms = self.saving_milliseconds;
                    write!(f, ", {} saved in {ms} ms", self.saved)?;
                }
            }
        }
        match self.notes.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", self.notes.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &'static str, threads: Option<u32>) -> KernelState {
        KernelState {
            kernel: name,
            declared_threads: 256,
            declared_threadgroup_bytes: 0,
            limits: threads.map(|threads| KernelLimits {
                threads,
                ..KernelLimits::default()
            }),
            error: threads.is_none().then(|| "refused".into()),
        }
    }

    fn report(kernels: Vec<KernelState>) -> KernelReport {
        KernelReport {
            device: DeviceKind::Metal,
            start: StartReport {
                milliseconds: 12.4,
                cache: None,
            },
            units: vec![UnitReport {
                library: "test",
                unit: "hash/merkle",
                code: CodeSource::Source,
                cached: false,
                milliseconds: 12.0,
                warnings: None,
                left_out: None,
                error: None,
                kernels,
            }],
        }
    }

    #[test]
    fn a_line_for_people() {
        let whole = report(vec![kernel("a", Some(256)), kernel("b", Some(128))]);
        assert!(whole.is_complete());
        let narrow: Vec<_> = whole.narrow().map(|(k, l)| (k.kernel, l.threads)).collect();
        assert_eq!(narrow, [("b", 128)]);
        assert_eq!(whole.to_string(), "2 kernels of 1 units, prepared in 12 ms");
        let mut partial = report(Vec::new());
        partial.units[0].left_out = Some("not for this device".into());
        assert_eq!(
            partial.to_string(),
            "0 kernels of 0 units, 1 units left out, prepared in 12 ms"
        );

        let mut broken = report(vec![kernel("a", Some(256)), kernel("b", None)]);
        assert!(!broken.is_complete());
        let missing: Vec<_> = broken
            .missing()
            .map(|(u, k, e)| (u.unit, k.kernel, e))
            .collect();
        assert_eq!(missing, [("hash/merkle", "b", "refused")]);
        let mut cache = CacheReport {
            folder: Some("/c".into()),
            found: Some(0),
            saved: 22,
            saving_milliseconds: 70,
            notes: vec!["a is damaged".into()],
        };
        broken.start.cache = Some(cache.clone());
        assert_eq!(
            broken.to_string(),
            "2 kernels of 1 units, 1 cannot run (hash/merkle), prepared in 12 ms; \
             cold start: 0 units found in /c, 22 saved in 70 ms (a is damaged)"
        );
        cache.notes.clear();
        (cache.found, cache.saved) = (Some(23), 0);
        assert_eq!(cache.to_string(), "warm start: 23 units found in /c");
        (cache.found, cache.saved) = (Some(22), 1);
        assert!(cache.to_string().starts_with("partly warm start: 22 units"));
        cache.found = None;
        assert_eq!(cache.to_string(), "the driver's cache in /c");
        cache.folder = None;
        assert_eq!(cache.to_string(), "no cache");
    }

    #[test]
    fn a_report_for_tools() {
        let report = report(vec![kernel("b", None)]);
        let json = serde_json::to_value(&report).expect("plain data");
        assert_eq!(json["device"], "metal");
        assert_eq!(json["units"][0]["code"], "source");
        assert_eq!(json["units"][0]["kernels"][0]["error"], "refused");
        assert_eq!(json["units"][0]["kernels"][0]["declared_threads"], 256);
    }
}
