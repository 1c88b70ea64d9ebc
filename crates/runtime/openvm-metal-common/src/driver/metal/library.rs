//! Preparing kernels: from the compiled libraries in the program, or from the embedded source.

use std::sync::Once;
use std::time::{Duration, Instant};

use objc2::rc::autoreleasepool;
use objc2::runtime::NSObjectProtocol;
use objc2::sel;
use objc2_metal::MTLDevice;
use rayon::prelude::*;

use super::cache::{Cache, Filled};
use super::pipeline::{
    checked, descriptor, from_bytes, from_source, prepare, Library, Outcome, Prepared,
};
use super::Device;
use crate::device_kind::DeviceKind;
use crate::device_profile::DeviceProfile;
use crate::driver::apple::progress::Progress;
use crate::driver::apple::validation::Validation;
use crate::driver::inlining::{self, NOINLINE_VARIABLE};
use crate::driver::kernels::{left_out, missing, units, Kernels, PreparedUnit};
use crate::driver::origin::{choose, metallibs_wanted, Origin, Source, METALLIB_VARIABLE};
use crate::driver::units::trouble;
use crate::driver::OpenOptions;
use crate::error::{MetalError, Result};
use crate::kernel::{KernelLibrary, KernelSpec, KernelUnit, Prepare};
use crate::report::{CodeSource, KernelReport, StartReport};

/// Units that compile for longer are named in the log.
const LONG: Duration = Duration::from_secs(10);
/// Words of the report about units for a first use.
const LATER: &str = "it is compiled when one of its kernels is needed first";

/// The pipelines of every kernel, made when the context is, so that a bad kernel is known at start.
pub(super) struct Pipelines {
    kernels: Kernels<Prepared>,
    report: KernelReport,
    pub origin: Origin,
    pub validation: Validation,
    preparation: Preparation,
    /// Units that are prepared when they are needed.
    later: Vec<Later>,
}

/// A unit that is prepared when one of its kernels is needed.
struct Later {
    library: &'static str,
    unit: &'static KernelUnit,
    prepared: Once,
}

/// Settings by which all units are prepared.
struct Preparation {
    device: Device,
    metallibs: bool,
    /// Large functions are not inlined.
    large_apart: bool,
    validation: Validation,
    cache: Cache,
}

impl Pipelines {
    /// Prepares every kernel, several at a time. Those that Metal refuses are in the report.
    pub fn compile(
        device: &Device,
        options: &OpenOptions,
        profile: &DeviceProfile,
    ) -> Result<Self> {
        let start = Instant::now();
        let validation = Validation::of(|name| std::env::var_os(name));
        let preparation = Preparation {
            device: device.clone(),
            metallibs: metallibs_from_env()?,
            large_apart: large_apart_from_env()?,
            validation,
            cache: Cache::open(device, validation),
        };
        // macOS 13.3.
        if device.respondsToSelector(sel!(setShouldMaximizeConcurrentCompilation:)) {
            device.setShouldMaximizeConcurrentCompilation(true);
        }
        let kernels = Kernels::new(DeviceKind::Metal);
        let (mut now, mut later, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (library, unit) in units(options.libraries) {
            let waits = unit.prepared == Prepare::AtFirstUse && !options.units.is_only(unit);
            if let Some(reason) = options.units.leaves_out(library, unit, profile) {
                rows.push(kernels.leave_out(library, unit, CodeSource::Source, reason));
            } else if waits {
                let reason = LATER.to_owned();
                rows.push(left_out(library, unit, CodeSource::Source, reason));
                later.push(Later {
                    library,
                    unit,
                    prepared: Once::new(),
                });
            } else {
                now.push((library, unit));
            }
        }
        let progress = Progress::default();
        let made: Vec<(PreparedUnit<Prepared>, Source)> = std::thread::scope(|scope| {
            scope.spawn(|| {
                progress.watch(LONG, |units| {
                    tracing::warn!(units, "Metal compiles kernels")
                });
            });
            let _ending = progress.ending();
            now.par_iter()
                .map(|(_, unit)| {
                    progress.during(unit.name, || autoreleasepool(|_| preparation.unit(unit)))
                })
                .collect()
        });
        let mut origin = Origin::default();
        let mut reports: Vec<_> = now
            .into_iter()
            .zip(made)
            .map(|((library, unit), (made, source))| {
                origin.count(source);
                kernels.add_unit(library, unit, made)
            })
            .collect();
        reports.append(&mut rows);
        let report = KernelReport {
            device: DeviceKind::Metal,
            start: StartReport {
                milliseconds: start.elapsed().as_secs_f64() * 1e3,
                cache: Some(preparation.cache.report()),
            },
            units: reports,
        };
        Ok(Self {
            kernels,
            report,
            origin,
            validation,
            preparation,
            later,
        })
    }

    /// Results of the units.
    pub fn report(&self) -> &KernelReport {
        &self.report
    }

    /// Compiles a unit made at run time.
    pub fn add(
        &self,
        device: &Device,
        unit: &str,
        msl: &str,
        kernels: &[&'static KernelSpec],
    ) -> Result<()> {
        let (library, warnings) =
            from_source(device, msl).map_err(|message| MetalError::KernelCompile {
                device: DeviceKind::Metal,
                unit: unit.into(),
                message,
            })?;
        if let Some(warnings) = warnings {
            tracing::debug!(unit, %warnings, "compiled with warnings");
        }
        let made = kernels
            .iter()
            .map(|kernel| {
                prepare(device, &library, kernel, self.validation)
                    .map_err(|reason| missing(DeviceKind::Metal, kernel, reason))
            })
            .collect::<Result<Vec<_>>>()?;
        for (kernel, prepared) in kernels.iter().zip(made) {
            self.kernels.insert(kernel, Ok(prepared));
        }
        Ok(())
    }

    /// Forgets kernels of units made at run time; command buffers in flight retain their pipelines.
    pub fn remove(&self, kernels: &[&KernelSpec]) {
        self.kernels.remove(kernels);
    }

    /// The pipeline of a kernel; compiles its unit if nobody needed it before.
    pub fn get(&self, kernel: &KernelSpec) -> Result<Prepared> {
        if let Some(found) = self.kernels.find(kernel) {
            return found;
        }
        let of_kernel =
            |later: &&Later| (later.library, later.unit.name) == (kernel.library, kernel.unit);
        if let Some(later) = self.later.iter().find(of_kernel) {
            later.prepared.call_once(|| {
                let (made, _) = autoreleasepool(|_| self.preparation.unit(later.unit));
                self.kernels.add_unit(later.library, later.unit, made);
            });
        }
        self.kernels.get(kernel)
    }
}

/// The code that [`Pipelines::compile`] would use, found without compiling anything.
pub(super) fn probe(device: &Device, libraries: &[&'static KernelLibrary]) -> Result<Origin> {
    let metallibs = metallibs_from_env()?;
    let mut origin = Origin::default();
    for (_, unit) in units(libraries) {
        let load = |bytes| {
            let library = from_bytes(device, bytes)?;
            unit.kernels
                .iter()
                .try_for_each(|kernel| descriptor(&library, kernel).map(drop))
        };
        origin.count(choose(unit, metallibs, load, || Ok(())).1);
    }
    Ok(origin)
}

/// True if the libraries in the program are used: they were compiled with large functions inlined.
fn metallibs_from_env() -> Result<bool> {
    let wanted = metallibs_wanted(std::env::var(METALLIB_VARIABLE).ok().as_deref())?;
    Ok(wanted && !large_apart_from_env()?)
}

fn large_apart_from_env() -> Result<bool> {
    inlining::large_apart(std::env::var(NOINLINE_VARIABLE).ok().as_deref())
}

/// Result of one kind of code of a unit.
struct Made {
    kernels: Vec<crate::driver::kernels::Prepared<Prepared>>,
    warnings: Option<String>,
    cached: bool,
}

impl Preparation {
    fn unit(&self, unit: &'static KernelUnit) -> (PreparedUnit<Prepared>, Source) {
        trouble(unit);
        let start = Instant::now();
        let (made, source) = choose(
            unit,
            self.metallibs,
            |bytes| {
                let made = self.kernels(unit, &from_bytes(&self.device, bytes)?, bytes);
                // The source may do what the library of another compiler does not.
                match made.kernels.iter().find_map(|kernel| kernel.as_ref().err()) {
                    Some(reason) => Err(reason.clone()),
                    None => Ok(made),
                }
            },
            || {
                let msl = inlining::text(unit.msl, self.large_apart);
                let (library, warnings) = from_source(&self.device, &msl)?;
                let made = self.kernels(unit, &library, msl.as_bytes());
                Ok(Made { warnings, ..made })
            },
        );
        let code = match source {
            Source::Compiled => CodeSource::Metallib,
            Source::Text | Source::Refused(_) => CodeSource::Source,
        };
        let (cached, warnings, kernels) = match made {
            Ok(made) => (made.cached, made.warnings, Ok(made.kernels)),
            Err(message) => (false, None, Err(message)),
        };
        let prepared = PreparedUnit {
            code,
            cached,
            milliseconds: start.elapsed().as_secs_f64() * 1e3,
            warnings,
            kernels,
        };
        (prepared, source)
    }

    /// The pipelines of a library: from the archive of an earlier start if it has all of them, else compiled, and an
    /// archive is left for the next start.
    fn kernels(&self, unit: &'static KernelUnit, library: &Library, code: &[u8]) -> Made {
        if let Some(found) = self.cache.find(&self.device, unit, code) {
            let all: Option<Vec<_>> = unit
                .kernels
                .iter()
                .map(|kernel| {
                    if let Some(reason) = self.validation.refuses(kernel) {
                        return Some(Err(reason));
                    }
                    let descriptor = descriptor(library, kernel).ok()?;
                    let pipeline = found.pipeline(&self.device, &descriptor)?;
                    Some(checked(kernel, pipeline))
                })
                .collect();
            match all {
                Some(kernels) => {
                    self.cache.use_found(&found);
                    return made(kernels, true);
                }
                None => self
                    .cache
                    .reject(&found, "Metal does not find all kernels in it"),
            }
        }
        let Some(archive) = self.cache.begin(&self.device) else {
            let compile = |kernel| {
                autoreleasepool(|_| prepare(&self.device, library, kernel, self.validation))
            };
            return made(unit.kernels.par_iter().map(compile).collect(), false);
        };
        let (kernels, kept): (Vec<_>, Vec<_>) = unit
            .kernels
            .iter()
            .map(|kernel| autoreleasepool(|_| self.archived(&archive, library, kernel)))
            .unzip();
        // An archive of a part would be of no use at the next start.
        if kernels.iter().all(Result::is_ok) && kept.iter().all(|&kept| kept) {
            self.cache.save(unit, code, &archive);
        }
        made(kernels, false)
    }

    /// The pipeline of a kernel, and whether its code is in the archive. It is compiled into the archive, and the pipeline is
    /// made of that code: made first, both would compile. Where Metal does not find what it has just put there, it compiles twice.
    fn archived(
        &self,
        archive: &Filled,
        library: &Library,
        kernel: &'static KernelSpec,
    ) -> (Outcome<Prepared>, bool) {
        if let Some(reason) = self.validation.refuses(kernel) {
            return (Err(reason), false);
        }
        let descriptor = match descriptor(library, kernel) {
            Ok(descriptor) => descriptor,
            Err(reason) => return (Err(reason), false),
        };
        let kept = archive.add(&descriptor);
        if let Err(reason) = &kept {
            tracing::debug!(kernel = kernel.name, %reason, "not in the archive");
        }
        let pipeline = match kept {
            Ok(()) => archive.pipeline(&self.device, &descriptor),
            Err(_) => None,
        };
        let prepared = match pipeline {
            Some(pipeline) => checked(kernel, pipeline),
            None => prepare(&self.device, library, kernel, self.validation),
        };
        (prepared, kept.is_ok())
    }
}

fn made(kernels: Vec<Outcome<Prepared>>, cached: bool) -> Made {
    let with_limits = |prepared: Prepared| {
        let limits = prepared.limits();
        (prepared, limits)
    };
    Made {
        kernels: kernels.into_iter().map(|k| k.map(with_limits)).collect(),
        warnings: None,
        cached,
    }
}
