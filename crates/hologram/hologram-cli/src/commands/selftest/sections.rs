//! Sections of the self test.

use clap::ValueEnum;
use hologram_backends::metal::{Effort, MetalBackend};
use hologram_backends::BackendError;
use hologram_conformance::operations::{suite, OperationGroup};
use hologram_conformance::random::{compare_batch, Features};
use hologram_conformance::table::{self, Compared};
use hologram_conformance::Promise;
use openvm_metal_common::{KernelState, MetalContext, UnitReport};

use super::report::Outcome;
use super::SelftestArgs;

/// Random programs of an item, which are compiled together.
const BATCH: u64 = 25;
/// Differences of an item that are shown.
const SHOWN: usize = 3;

/// A part of the self test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Section {
    /// Each unit of kernels, as the device compiled it.
    Kernels,
    /// Each instruction and type at edge values.
    Instructions,
    /// Each whole-buffer operation and type, against the same on the host's memory.
    Operations,
    /// Random programs, against the interpreter.
    Programs,
}

/// One thing that passes or fails.
pub struct Item<'a> {
    /// The part that it belongs to.
    pub section: Section,
    /// The name within the part.
    pub name: String,
    /// Runs it.
    pub run: Box<dyn FnOnce() -> Outcome + 'a>,
}

impl Section {
    /// All of them, in the order in which they run.
    pub const ALL: [Self; 4] = [
        Self::Kernels,
        Self::Instructions,
        Self::Operations,
        Self::Programs,
    ];

    /// Name as `--only` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernels => "kernels",
            Self::Instructions => "instructions",
            Self::Operations => "operations",
            Self::Programs => "programs",
        }
    }

    /// Items that this section tests on a device.
    pub fn items<'a>(self, context: &'a MetalContext, args: &SelftestArgs) -> Vec<Item<'a>> {
        match self {
            Self::Kernels => kernels(context),
            Self::Instructions => instructions(context),
            Self::Operations => operations(context),
            Self::Programs => programs(context, args),
        }
    }
}

/// A backend of its own, which holds no memory.
fn backend(context: &MetalContext) -> Result<MetalBackend, BackendError> {
    MetalBackend::on(context, MetalBackend::default_folder(), Effort::Least)
}

/// A missing compiler is no fault of the device.
fn outcome(result: Result<Outcome, BackendError>) -> Outcome {
    match result {
        Ok(outcome) => outcome,
        Err(error @ BackendError::NoCompiler(_)) => Outcome::Skipped(error.to_string()),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// Passed if nothing is wrong, else the first of what is.
fn judge(wrong: &[String], total: usize, what: &str, good: String) -> Outcome {
    match wrong.len() {
        0 => Outcome::Passed(good),
        n => {
            let shown = wrong[..n.min(SHOWN)].join("\n");
            Outcome::Failed(format!("{n} of {total} {what}\n{shown}"))
        }
    }
}

fn kernels<'a>(context: &'a MetalContext) -> Vec<Item<'a>> {
    let item = |unit: &'a UnitReport| Item {
        section: Section::Kernels,
        name: format!("{}/{}", unit.library, unit.unit),
        run: Box::new(move || compiled(unit)),
    };
    context.kernel_report().units.iter().map(item).collect()
}

/// Compiler's verdict on a unit: a failure if any of its kernels cannot run.
fn compiled(unit: &UnitReport) -> Outcome {
    let kernels = unit.kernels.iter().map(|kernel| match &kernel.limits {
        Some(limits) => {
            let (threads, declared) = (limits.threads, kernel.declared_threads);
            format!("{} {threads} of {declared} threads", kernel.kernel)
        }
        None => format!(
            "{} cannot run: {}",
            kernel.kernel,
            kernel.error.as_deref().unwrap_or("no reason given")
        ),
    });
    let mut lines = vec![format!(
        "{}{:?}, {:.0} ms",
        if unit.cached { "cached " } else { "" },
        unit.code,
        unit.milliseconds
    )];
    lines.extend(unit.error.clone());
    lines.extend(unit.warnings.iter().map(|text| format!("compiler: {text}")));
    lines.extend(kernels);
    let text = lines.join("\n");
    let is_usable = |kernel: &KernelState| kernel.limits.is_some();
    match unit.error.is_none() && unit.kernels.iter().all(is_usable) {
        true => Outcome::Passed(text),
        false => Outcome::Failed(text),
    }
}

fn instructions(context: &MetalContext) -> Vec<Item<'_>> {
    let promise = Promise::of(context.device_profile());
    let section = Section::Instructions;
    let together = Item {
        section,
        name: "compile all together".to_owned(),
        run: Box::new(move || {
            let cases = table::cases(promise);
            let prepared = backend(context).and_then(|mut b| table::prepare(&mut b, &cases));
            outcome(prepared.map(|()| Outcome::Passed(format!("{} kernels", cases.len()))))
        }),
    };
    let each = table::cases(promise).into_iter().map(|case| Item {
        section,
        name: case.name().to_owned(),
        run: Box::new(move || {
            let compared = backend(context).and_then(|mut backend| case.run(&mut backend));
            outcome(compared.map(|compared| result(&compared, case.results())))
        }),
    });
    std::iter::once(together).chain(each).collect()
}

/// Outcome of a case: its greatest errors, and what is right with subnormals flushed alone.
fn result(compared: &Compared, results: usize) -> Outcome {
    let errors = compared.greatest.iter();
    let errors: Vec<String> = errors
        .map(|(name, places)| format!("{name} {places}"))
        .collect();
    let mut good = format!("{results} results");
    if !errors.is_empty() {
        good.push_str(&format!(
            "; greatest errors in units of the last place: {}",
            errors.join(", ")
        ));
    }
    match judge(&compared.wrong, results, "results are wrong", good) {
        Outcome::Passed(good) if compared.flushed > 0 => Outcome::Tolerated(format!(
            "{good}; {} with subnormals flushed to zero",
            compared.flushed
        )),
        other => other,
    }
}

fn operations(context: &MetalContext) -> Vec<Item<'_>> {
    let run = |context: &MetalContext, group: &OperationGroup| {
        let (mut wrong, mut flushed) = (Vec::new(), 0);
        for case in &group.cases {
            match case.run(context) {
                Ok(Ok(n)) => flushed += n,
                Ok(Err(what)) => wrong.push(what),
                Err(error) => wrong.push(format!("{:?}: {error}", case.operation)),
            }
        }
        let total = group.cases.len();
        match judge(&wrong, total, "differ", format!("{total} operations")) {
            Outcome::Passed(good) if flushed > 0 => Outcome::Tolerated(format!(
                "{good}; {flushed} results with subnormals flushed to zero"
            )),
            other => other,
        }
    };
    let groups = suite(context.device_profile()).into_iter();
    let item = |group: OperationGroup| Item {
        section: Section::Operations,
        name: group.name.clone(),
        run: Box::new(move || run(context, &group)),
    };
    groups.map(item).collect()
}

fn programs<'a>(context: &'a MetalContext, args: &SelftestArgs) -> Vec<Item<'a>> {
    let promise = Promise::of(context.device_profile());
    let features = Features {
        doubles: promise.doubles,
        ..Features::default()
    };
    let end = args.seed.saturating_add(args.programs);
    let starts = (args.seed..end).step_by(BATCH as usize);
    let item = |first: u64| {
        let seeds = first..end.min(first.saturating_add(BATCH));
        Item {
            section: Section::Programs,
            name: format!("seeds {first} to {}", seeds.end - 1),
            run: Box::new(move || {
                let compared = backend(context)
                    .and_then(|mut b| compare_batch(&mut b, seeds, &features, promise));
                outcome(compared.map(|batch| {
                    let wrong = batch.different.iter();
                    let wrong: Vec<String> = wrong.map(|(s, w)| format!("seed {s}: {w}")).collect();
                    let good = format!(
                        "{} kernels, {} equal faults",
                        batch.kernels, batch.equal_faults
                    );
                    let outcome = judge(&wrong, batch.programs, "programs differ", good);
                    match outcome {
                        Outcome::Passed(good) if batch.flushed + batch.met.len() > 0 => {
                            Outcome::Tolerated(format!(
                                "{good}; {} with subnormals flushed to zero; seeds that depend on how: {:?}",
                                batch.flushed, batch.met
                            ))
                        }
                        other => other,
                    }
                }))
            }),
        }
    };
    starts.map(item).collect()
}
