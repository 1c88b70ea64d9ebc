//! Valid programs on the interpreter and on kernels, which must do the same.

use std::error::Error;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Effort, Fallback, MetalBackend, LIBRARY};
use hologram_backends::BackendError;
use hologram_conformance::random::{Campaign, Comparison, Features, Mismatch};
use hologram_conformance::Promise;
use openvm_metal_common::{Device, DeviceProfile, MetalContext};

use super::FuzzArgs;
use crate::commands::put;
use crate::error::{CliError, Result};

/// Programs that one backend compiles: its kernels are dropped with it.
const CHUNK: u64 = 512;

/// State that the threads share.
struct Work<'a> {
    args: &'a FuzzArgs,
    next: AtomicU64,
    stop: AtomicBool,
    compared: AtomicU64,
    outcome: Mutex<(Campaign, Option<CliError>)>,
    progress: bool,
}

fn features(args: &FuzzArgs, profile: &DeviceProfile) -> Features {
    Features {
        fallback: args.fallback,
        doubles: profile.double_precision,
        ..Features::default()
    }
}

/// Compares the programs.
pub fn run(args: &FuzzArgs) -> Result<()> {
    let work = Work {
        args,
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        compared: AtomicU64::new(0),
        outcome: Mutex::default(),
        progress: std::io::stderr().is_terminal(),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = match args.jobs {
        Some(jobs) => jobs.get(),
        None if matches!(args.device, Device::Cpu | Device::CpuConformance) => cores,
        None => 1,
    };
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| work.job());
        }
    });
    if work.progress {
        eprintln!(
            "\r{} programs in {:.0} s",
            args.programs,
            begin.elapsed().as_secs_f64()
        );
    }
    let (campaign, error) = work
        .outcome
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    match error {
        Some(error) => Err(error),
        None => put(None, format!("{campaign}\n").as_bytes()),
    }
}

impl Work<'_> {
    /// Compares chunk after chunk until there are none, or a job failed.
    fn job(&self) {
        if let Err(error) = self.chunks() {
            self.stop.store(true, Relaxed);
            let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
            outcome.1.get_or_insert(error);
        }
    }

    fn chunks(&self) -> Result<()> {
        let lost = |error: openvm_metal_common::MetalError| BackendError::Device(error.to_string());
        let context = MetalContext::new(self.args.device, &[&LIBRARY]).map_err(lost)?;
        loop {
            let start = self.next.fetch_add(CHUNK, Relaxed);
            if start >= self.args.programs || self.stop.load(Relaxed) {
                return Ok(());
            }
            let count = CHUNK.min(self.args.programs - start);
            let campaign = self.chunk(&context, start, count)?;
            let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
            merge(&mut outcome.0, campaign);
        }
    }

    fn chunk(&self, context: &MetalContext, start: u64, count: u64) -> Result<Campaign> {
        let effort = if self.args.optimised {
            Effort::Usual
        } else {
            Effort::Least
        };
        let features = features(self.args, context.device_profile());
        let mut reference = CpuBackend::new();
        let policy = if self.args.fallback {
            Fallback::WhenUnsupported
        } else {
            Fallback::Never
        };
        let kernels = MetalBackend::on(context, self.args.kernels.clone(), effort)?;
        let mut kernels = kernels.with_fallback(policy);
        let mut comparison = Comparison::new(
            &mut reference,
            &mut kernels,
            Promise::of(context.device_profile()),
        )?;
        let seed = self.args.seed.wrapping_add(start);
        let mut before = 0;
        let progress = |done: &Campaign| {
            let all =
                self.compared.fetch_add(done.programs - before, Relaxed) + done.programs - before;
            before = done.programs;
            if self.progress {
                eprint!("\r{all} of {}", self.args.programs);
            }
        };
        comparison
            .campaign(seed, count, &features, progress)
            .map_err(|error| explain(&mut comparison, error))
    }
}

/// The error with the smallest program that shows it.
fn explain(comparison: &mut Comparison<'_>, error: Box<dyn Error>) -> CliError {
    match error.downcast::<Mismatch>() {
        Ok(mismatch) => {
            let last = comparison.smallest(&mismatch);
            CliError::Found {
                seed: mismatch.case.seed,
                what: format!("{}; made smaller:\n{last}", mismatch.what),
            }
        }
        Err(other) => match other.downcast::<BackendError>() {
            Ok(error) => CliError::Backend(*error),
            Err(other) => CliError::Usage(other.to_string()),
        },
    }
}

fn merge(all: &mut Campaign, more: Campaign) {
    all.programs += more.programs;
    all.instructions += more.instructions;
    all.lanes += more.lanes;
    all.flushed += more.flushed;
    all.met += more.met;
    for (kind, count) in more.faults {
        *all.faults.entry(kind).or_default() += count;
    }
}
