//! A driver's kernels: prepared, or missing with a reason.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::device_kind::DeviceKind;
use crate::error::{MetalError, Result};
use crate::kernel::{KernelLibrary, KernelSpec, KernelUnit};
use crate::report::{CodeSource, KernelLimits, KernelState, UnitReport};

/// Characters of a compiler's message that errors repeat; reports have all of it.
const EXCERPT: usize = 1500;

/// A kernel that was prepared, or why it was not.
pub(crate) type Prepared<P> = std::result::Result<(P, KernelLimits), String>;

/// Result of preparing a unit.
pub(crate) struct PreparedUnit<P> {
    pub code: CodeSource,
    pub cached: bool,
    pub milliseconds: f64,
    pub warnings: Option<String>,
    /// One entry for each kernel, or why the whole unit was refused.
    pub kernels: std::result::Result<Vec<Prepared<P>>, String>,
}

/// Every unit of some libraries with the name of its library.
pub(crate) fn units(
    libraries: &[&'static KernelLibrary],
) -> Vec<(&'static str, &'static KernelUnit)> {
    libraries
        .iter()
        .flat_map(|library| library.units.iter().map(|unit| (library.name, unit)))
        .collect()
}

/// The kernels of a context by their descriptions.
pub(crate) struct Kernels<P> {
    device: DeviceKind,
    table: RwLock<Table<P>>,
}

type Entry<P> = std::result::Result<P, Reason>;

/// Reason why a kernel cannot run.
#[derive(Clone)]
struct Reason {
    /// True if the unit of the kernel is left out; else the device refused it.
    left_out: bool,
    text: Arc<str>,
}

struct Table<P> {
    /// By address of the `static` description: what launchers pass.
    by_address: HashMap<usize, Entry<P>>,
    /// By library, unit and name, should the compiler have copied the description.
    by_name: HashMap<(&'static str, &'static str, &'static str), Entry<P>>,
}

impl<P: Clone> Kernels<P> {
    /// A table without kernels.
    pub fn new(device: DeviceKind) -> Self {
        Self {
            device,
            table: RwLock::new(Table {
                by_address: HashMap::new(),
                by_name: HashMap::new(),
            }),
        }
    }

    /// Takes over a unit and reports on it. One that was refused is logged and leaves the others as they are.
    pub fn add_unit(
        &self,
        library: &'static str,
        unit: &'static KernelUnit,
        made: PreparedUnit<P>,
    ) -> UnitReport {
        let (device, count) = (self.device, unit.kernels.len());
        let (error, kernels) = match made.kernels {
            Ok(kernels) => (None, kernels),
            Err(error) => {
                tracing::error!(%device, library, unit = unit.name, %error, "kernel unit refused, its kernels are missing");
                let reason = format!("its unit was refused: {error}");
                let kernels = (0..count).map(|_| Err(reason.clone())).collect();
                (Some(error), kernels)
            }
        };
        let mut states = Vec::with_capacity(count);
        for (kernel, prepared) in unit.kernels.iter().zip(kernels) {
            let (limits, reason) = match &prepared {
                Ok((_, limits)) => (Some(*limits), None),
                Err(reason) => (None, Some(reason.clone())),
            };
            if let (Some(reason), None) = (&reason, &error) {
                tracing::error!(%device, library, kernel = kernel.name, %reason, "kernel missing");
            }
            self.insert(kernel, prepared.map(|(prepared, _)| prepared));
            states.push(KernelState {
                kernel: kernel.name,
                declared_threads: kernel.max_threads,
                declared_threadgroup_bytes: kernel.static_threadgroup_bytes,
                limits,
                error: reason,
            });
        }
        UnitReport {
            library,
            unit: unit.name,
            code: made.code,
            cached: made.cached,
            milliseconds: made.milliseconds,
            warnings: made.warnings,
            left_out: None,
            error,
            kernels: states,
        }
    }

    /// Remembers that a unit is left out, and reports that.
    pub fn leave_out(
        &self,
        library: &'static str,
        unit: &'static KernelUnit,
        code: CodeSource,
        reason: String,
    ) -> UnitReport {
        let entry = Reason {
            left_out: true,
            text: reason.as_str().into(),
        };
        for kernel in unit.kernels {
            self.enter(kernel, Err(entry.clone()));
        }
        left_out(library, unit, code, reason)
    }

    /// Remembers a kernel, or why it is missing.
    pub fn insert(&self, kernel: &'static KernelSpec, prepared: std::result::Result<P, String>) {
        let entry = prepared.map_err(|reason| Reason {
            left_out: false,
            text: excerpt(&reason).into(),
        });
        self.enter(kernel, entry);
    }

    fn enter(&self, kernel: &'static KernelSpec, entry: Entry<P>) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table
            .by_address
            .insert(std::ptr::from_ref(kernel) as usize, entry.clone());
        table
            .by_name
            .insert((kernel.library, kernel.unit, kernel.name), entry);
    }

    /// Forgets kernels.
    pub fn remove(&self, kernels: &[&KernelSpec]) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        for kernel in kernels {
            let name = (kernel.library, kernel.unit, kernel.name);
            table.by_name.remove(&name);
            table
                .by_address
                .remove(&(std::ptr::from_ref(*kernel) as usize));
        }
    }

    /// The prepared form of a kernel.
    ///
    /// # Errors
    /// [`MetalError::KernelMissing`] with the compiler's words, or because its library is not known.
    pub fn get(&self, kernel: &KernelSpec) -> Result<P> {
        self.find(kernel).unwrap_or_else(|| {
            Err(missing(
                self.device,
                kernel,
                "its library was not given to the context",
            ))
        })
    }

    /// The prepared form of a kernel, or the reason why there is none, if it is known.
    pub fn find(&self, kernel: &KernelSpec) -> Option<Result<P>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let address = std::ptr::from_ref(kernel) as usize;
        let entry = table.by_address.get(&address).or_else(|| {
            table
                .by_name
                .get(&(kernel.library, kernel.unit, kernel.name))
        });
        entry.map(|entry| match entry {
            Ok(prepared) => Ok(prepared.clone()),
            Err(reason) if reason.left_out => Err(MetalError::KernelLeftOut {
                kernel: kernel.name.into(),
                unit: kernel.unit.into(),
                device: self.device,
                reason: reason.text.to_string(),
            }),
            Err(reason) => Err(missing(self.device, kernel, &*reason.text)),
        })
    }
}

/// The row of a unit that was not prepared, for a reason that is no fault.
pub(crate) fn left_out(
    library: &'static str,
    unit: &'static KernelUnit,
    code: CodeSource,
    reason: String,
) -> UnitReport {
    UnitReport {
        library,
        unit: unit.name,
        code,
        cached: false,
        milliseconds: 0.0,
        warnings: None,
        left_out: Some(reason),
        error: None,
        kernels: Vec::new(),
    }
}

/// The error for a kernel that cannot run.
pub(crate) fn missing(
    device: DeviceKind,
    kernel: &KernelSpec,
    reason: impl Into<String>,
) -> MetalError {
    MetalError::KernelMissing {
        kernel: kernel.name.into(),
        unit: kernel.unit.into(),
        device,
        reason: reason.into(),
    }
}

/// The beginning of a long message.
fn excerpt(message: &str) -> String {
    match message.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{} ...", &message[..end]),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{KernelKind, Prepare};

    const fn spec(name: &'static str) -> KernelSpec {
        KernelSpec {
            name,
            ptx_entry: "",
            unit: "hash/merkle",
            library: "test",
            args: &[],
            kind: KernelKind::Flat,
            max_threads: 256,
            static_threadgroup_bytes: 64,
            any_threadgroup_size: true,
            cpu: &[],
            fiber: None,
            ptx_params: &[],
            slices: false,
            clauses: None,
            safe: false,
        }
    }

    static SPECS: [KernelSpec; 2] = [spec("a"), spec("b")];
    static COPY: KernelSpec = spec("a");
    static OTHER: KernelSpec = spec("c");
    static UNIT: KernelUnit = KernelUnit {
        name: "hash/merkle",
        msl: "",
        metallib: None,
        ptx: None,
        kernels: &SPECS,
        prepared: Prepare::AtStart,
    };

    fn made(kernels: std::result::Result<Vec<Prepared<u32>>, String>) -> PreparedUnit<u32> {
        PreparedUnit {
            code: CodeSource::Source,
            cached: false,
            milliseconds: 1.0,
            warnings: None,
            kernels,
        }
    }

    fn limits(threads: u32) -> KernelLimits {
        KernelLimits {
            threads,
            ..KernelLimits::default()
        }
    }

    #[test]
    fn a_unit_that_is_refused_names_itself_in_every_kernel() {
        let kernels = Kernels::new(DeviceKind::Metal);
        let report = kernels.add_unit("test", &UNIT, made(Err("3:7: unknown type 'u32'".into())));
        assert_eq!(report.error.as_deref(), Some("3:7: unknown type 'u32'"));
        assert!(report.kernels.iter().all(|k| k.limits.is_none()));
        for kernel in &SPECS {
            let error = kernels.get(kernel).expect_err("refused").to_string();
            let expected = format!(
                "kernel {} of unit 'hash/merkle' cannot run on metal: \
                 its unit was refused: 3:7: unknown type 'u32'",
                kernel.name
            );
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn one_kernel_that_is_refused_leaves_the_others() {
        let kernels = Kernels::new(DeviceKind::Cuda);
        let both = vec![Ok((7, limits(128))), Err("too many registers".into())];
        let report = kernels.add_unit("test", &UNIT, made(Ok(both)));
        assert_eq!(report.error, None);
        assert_eq!(report.kernels[0].limits, Some(limits(128)));
        assert_eq!(report.kernels[0].declared_threads, 256);
        assert_eq!(
            report.kernels[1].error.as_deref(),
            Some("too many registers")
        );
        assert_eq!(kernels.get(&SPECS[0]).expect("prepared"), 7);
        assert_eq!(kernels.get(&COPY).expect("by name"), 7);
        assert!(kernels.get(&SPECS[1]).is_err());
        let error = kernels.get(&OTHER).expect_err("never seen").to_string();
        assert!(error.contains("its library was not given"), "{error}");
        kernels.remove(&[&SPECS[0]]);
        assert!(kernels.get(&SPECS[0]).is_err());
    }

    #[test]
    fn a_unit_that_is_left_out_is_no_fault() {
        let kernels = Kernels::<u32>::new(DeviceKind::Metal);
        let reason = "it is for other devices".to_owned();
        let report = kernels.leave_out("test", &UNIT, CodeSource::Source, reason.clone());
        assert_eq!(report.left_out, Some(reason));
        assert!(report.error.is_none() && report.kernels.is_empty());
        let error = kernels.get(&SPECS[0]).expect_err("left out");
        assert!(matches!(error, MetalError::KernelLeftOut { .. }));
        assert_eq!(
            error.to_string(),
            "kernel a of unit 'hash/merkle' is left out on metal: it is for other devices"
        );
    }

    #[test]
    fn errors_repeat_the_beginning_of_a_long_message() {
        let kernels = Kernels::<u32>::new(DeviceKind::Metal);
        let long = "é".repeat(10 * EXCERPT);
        let report = kernels.add_unit("test", &UNIT, made(Err(long.clone())));
        assert_eq!(report.error.map(|e| e.len()), Some(long.len()));
        let error = kernels.get(&SPECS[0]).expect_err("refused").to_string();
        assert!(error.ends_with(" ...") && error.len() < 3 * EXCERPT);
    }
}
