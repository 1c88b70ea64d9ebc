//! The processor as a device: a dispatch runs when it is encoded.

mod dispatch;
mod fiber;
mod host;
mod profile;
mod subnormals;

use std::time::{Duration, Instant};

use super::kernels::{units, Kernels, PreparedUnit};
use super::units::trouble;
use super::{Dispatch, Driver, DriverResult, Fault, Mark, OpenOptions, Tag};
use crate::device::DeviceInfo;
use crate::device_kind::DeviceKind;
use crate::device_profile::DeviceProfile;
use crate::error::{MetalError, Result};
use crate::grid::Shape;
use crate::kernel::KernelSpec;
use crate::memory::{Segment, Span};
use crate::parallel;
use crate::plan::Work;
use crate::report::{CodeSource, KernelLimits, KernelReport, StartReport};

pub(crate) use self::dispatch::check;
pub(crate) use self::host::{best_isa, memory_bytes};
pub(crate) use self::profile::of as profile;

/// Copies below this are not worth a second thread.
const PARALLEL_COPY: u64 = 2 << 20;
const COPY_CHUNK: u64 = 1 << 20;
/// Difference between addresses for kernels and for the host under a profile of another device, as they are on that device: one that is
/// taken for the other is no address at all.
const APART: u64 = 1 << 60;

pub(crate) struct CpuDriver {
    info: DeviceInfo,
    allowance: u64,
    /// Added to an address of the host for one of kernels.
    apart: u64,
    report: KernelReport,
    kernels: Kernels<()>,
    /// Units are left out: dispatches of their kernels are refused, as by the device whose profile this is.
    leaves_out: bool,
}

/// The kernels that can run: their code is in the program.
fn prepare(
    options: &OpenOptions,
    profile: &DeviceProfile,
    conformance: bool,
) -> (KernelReport, Kernels<()>) {
    let start = Instant::now();
    let kernels = Kernels::new(DeviceKind::Cpu);
    let check = |kernel: &'static KernelSpec| match dispatch::unusable(kernel, conformance) {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(((), limits(kernel))),
    };
    let units: Vec<_> = units(options.libraries)
        .into_iter()
        .map(|(library, unit)| {
            if let Some(reason) = options.units.leaves_out(library, unit, profile) {
                return kernels.leave_out(library, unit, CodeSource::Native, reason);
            }
            trouble(unit);
            let made = PreparedUnit {
                code: CodeSource::Native,
                cached: false,
                milliseconds: 0.0,
                warnings: None,
                kernels: Ok(unit.kernels.iter().map(check).collect()),
            };
            kernels.add_unit(library, unit, made)
        })
        .collect();
    let report = KernelReport {
        device: DeviceKind::Cpu,
        start: StartReport {
            milliseconds: start.elapsed().as_secs_f64() * 1e3,
            cache: None,
        },
        units,
    };
    (report, kernels)
}

/// Native code runs with any number of threads.
fn limits(kernel: &KernelSpec) -> KernelLimits {
    KernelLimits {
        threads: kernel.max_threads,
        threadgroup_bytes: Some(kernel.static_threadgroup_bytes),
        ..KernelLimits::default()
    }
}

impl CpuDriver {
    /// Looks which kernels have native code for this processor.
    pub fn open(options: OpenOptions, conformance: bool) -> Result<Box<dyn Driver>> {
        let own = profile::of(conformance);
        let mut detail = format!(
            "native code {}, {} threads",
            host::best_isa().name(),
            own.cores
        );
        let real = own.working_set;
        let mut apart = 0;
        let mut profile = match options.profile {
            Some(given) => {
                if given.name != own.name {
                    detail += &format!(", profile {given}");
                    apart = APART;
                }
                given.clone().on_cpu(&own, dispatch::THREADGROUP_MEMORY)
            }
            None => own,
        };
        profile.budget = options.budget.unwrap_or(profile.budget);
        let (report, kernels) = prepare(&options, &profile, conformance);
        let leaves_out = report.units.iter().any(|unit| unit.left_out.is_some());
        // A profile plans with the memory of another device, the buffers are in that of this one.
        let allowance = options.budget.unwrap_or(profile.budget.min(real));
        let info = DeviceInfo {
            name: host::processor_name(),
            kind: DeviceKind::Cpu,
            detail,
            conformance,
            profile,
        };
        Ok(Box::new(Self {
            info,
            allowance,
            apart,
            report,
            kernels,
            leaves_out,
        }))
    }
}

impl CpuDriver {
    /// The kernel's unit is not left out.
    fn check_unit(&self, kernel: &KernelSpec) -> Result<()> {
        let found = self.leaves_out.then(|| self.kernels.find(kernel)).flatten();
        match found {
            Some(Err(error @ MetalError::KernelLeftOut { .. })) => Err(error),
            _ => Ok(()),
        }
    }
}

impl Driver for CpuDriver {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allowance(&self) -> u64 {
        self.allowance
    }

    fn report(&self) -> &KernelReport {
        &self.report
    }

    fn limits(&self, kernel: &'static KernelSpec) -> Result<KernelLimits> {
        self.check_unit(kernel)?;
        dispatch::check(kernel, self.info.conformance)?;
        Ok(limits(kernel))
    }

    fn load(&self, _: &str, _: Option<&str>, _: &[&'static KernelSpec]) -> Result<()> {
        Ok(())
    }

    fn unload(&self, _: &[&KernelSpec], _: Duration) {}

    fn allocate(&self, bytes: u64) -> DriverResult<Segment> {
        let segment = host::map(bytes).ok_or(Fault::OutOfMemory)?;
        Ok(Segment {
            reached: segment.reached + self.apart,
            ..segment
        })
    }

    fn release(&self, segment: Segment) {
        host::unmap(segment);
    }

    fn shape(&self, kernel: &'static KernelSpec, shape: Shape) -> DriverResult<Shape> {
        Ok(dispatch::fitted(kernel, shape))
    }

    fn can_cut(&self, _: &'static KernelSpec) -> bool {
        true
    }

    fn dispatch(&self, dispatch: &Dispatch, _: Tag) -> DriverResult {
        self.check_unit(dispatch.kernel)?;
        let flush = !self.info.profile.subnormals;
        dispatch::run(dispatch, self.info.conformance, flush).map_err(Fault::from)
    }

    fn fill(&self, dst: Span, byte: u8, _: Work, _: Tag) -> DriverResult {
        in_chunks(dst.bytes, parallel::BETWEEN_DISPATCHES, &|start, bytes| {
            let to = (dst.address() + start) as *mut u8;
            // SAFETY: inside the span, which the caller has exclusively.
            unsafe { to.write_bytes(byte, bytes) };
        });
        Ok(())
    }

    fn copy(&self, src: Span, dst: Span, _: Work, _: Tag) -> DriverResult {
        copy_bytes(src.address(), dst.address(), dst.bytes.min(src.bytes));
        Ok(())
    }

    fn upload(&self, dst: Span, data: &[u8], _: bool, _: Tag) -> DriverResult {
        copy_bytes(
            data.as_ptr() as u64,
            dst.address(),
            dst.bytes.min(data.len() as u64),
        );
        Ok(())
    }

    fn download(&self, src: Span, out: &mut [u8], _: Duration, _: Tag) -> DriverResult {
        copy_bytes(
            src.address(),
            out.as_mut_ptr() as u64,
            src.bytes.min(out.len() as u64),
        );
        Ok(())
    }

    fn submit(&self) -> DriverResult {
        Ok(())
    }

    fn wait(&self, _: Duration) -> DriverResult {
        Ok(())
    }

    fn mark(&self, _: Duration) -> DriverResult<Mark> {
        Ok(Mark::Wall(Instant::now()))
    }

    fn between(&self, start: Mark, end: Mark, _: Duration) -> DriverResult<Duration> {
        match (start, end) {
            (Mark::Wall(start), Mark::Wall(end)) => Ok(end - start),
            _ => Err(Fault::Lost("marks of another driver".into())),
        }
    }

    fn take_timings(&self) -> Vec<(Tag, u64)> {
        Vec::new()
    }
}

/// Copies between disjoint ranges that are live for the call, the target borrowed exclusively.
pub(in crate::driver) fn copy_bytes(source: u64, target: u64, bytes: u64) {
    copy_bytes_awake(source, target, bytes, parallel::BETWEEN_DISPATCHES);
}

/// [`copy_bytes`] by threads that stay awake for other work of the caller for the time `awake`.
pub(in crate::driver) fn copy_bytes_awake(source: u64, target: u64, bytes: u64, awake: Duration) {
    in_chunks(bytes, awake, &|start, bytes| {
        let (from, to) = ((source + start) as *const u8, (target + start) as *mut u8);
        // SAFETY: inside both ranges; the target is borrowed exclusively by the caller of the driver,
        // so they are disjoint, and the chunks of several threads are disjoint too.
        unsafe { to.copy_from_nonoverlapping(from, bytes) };
    });
}

/// Calls `work(start, bytes)` for pieces of `total` bytes, on several threads if that pays.
fn in_chunks(total: u64, awake: Duration, work: &(dyn Fn(u64, usize) + Sync)) {
    if total < PARALLEL_COPY {
        return work(0, total as usize);
    }
    parallel::run(total.div_ceil(COPY_CHUNK), 1, awake, &|begin, end| {
        let start = begin * COPY_CHUNK;
        work(start, (total.min(end * COPY_CHUNK) - start) as usize);
    });
}
