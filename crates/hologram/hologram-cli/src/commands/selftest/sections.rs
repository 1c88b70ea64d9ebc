//! Sections of the self test.

use clap::ValueEnum;
use hologram_backends::metal::{Effort, MetalBackend};
use hologram_backends::BackendError;
use hologram_conformance::operations::{suite, OperationGroup};
use hologram_conformance::random::{compare_batch, Features};
use hologram_conformance::table;
use openvm_metal_common::MetalContext;

use super::report::Outcome;
use super::SelftestArgs;

/// Random programs of an item, which are compiled together.
const BATCH: u64 = 25;
/// Differences of an item that are shown.
const SHOWN: usize = 3;

/// A part of the self test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Section {
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
    pub const ALL: [Self; 3] = [Self::Instructions, Self::Operations, Self::Programs];

    /// Name as `--only` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Operations => "operations",
            Self::Programs => "programs",
        }
    }

    /// Items that this section tests on a device.
    pub fn items<'a>(self, context: &'a MetalContext, args: &SelftestArgs) -> Vec<Item<'a>> {
        match self {
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

fn instructions(context: &MetalContext) -> Vec<Item<'_>> {
    let doubles = context.device_profile().double_precision;
    let section = Section::Instructions;
    let together = Item {
        section,
        name: "compile all together".to_owned(),
        run: Box::new(move || {
            let cases = table::cases(doubles);
            let prepared = backend(context).and_then(|mut b| table::prepare(&mut b, &cases));
            outcome(prepared.map(|()| Outcome::Passed(format!("{} kernels", cases.len()))))
        }),
    };
    let each = table::cases(doubles).into_iter().map(|case| Item {
        section,
        name: case.name().to_owned(),
        run: Box::new(move || {
            let wrong = backend(context).and_then(|mut backend| case.run(&mut backend));
            let results = case.results();
            outcome(wrong.map(|wrong| {
                let good = format!("{results} results");
                judge(&wrong, results, "results are wrong", good)
            }))
        }),
    });
    std::iter::once(together).chain(each).collect()
}

fn operations(context: &MetalContext) -> Vec<Item<'_>> {
    let run = |context: &MetalContext, group: &OperationGroup| {
        let mut wrong = Vec::new();
        for case in &group.cases {
            match case.run(context) {
                Ok(None) => {}
                Ok(Some(what)) => wrong.push(what),
                Err(error) => wrong.push(format!("{:?}: {error}", case.operation)),
            }
        }
        let total = group.cases.len();
        judge(&wrong, total, "differ", format!("{total} operations"))
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
    let features = Features {
        doubles: context.device_profile().double_precision,
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
                let compared =
                    backend(context).and_then(|mut b| compare_batch(&mut b, seeds, &features));
                outcome(compared.map(|batch| {
                    let wrong = batch.different.iter();
                    let wrong: Vec<String> = wrong.map(|(s, w)| format!("seed {s}: {w}")).collect();
                    let good = format!(
                        "{} kernels, {} equal faults",
                        batch.kernels, batch.equal_faults
                    );
                    judge(&wrong, batch.programs, "programs differ", good)
                }))
            }),
        }
    };
    starts.map(item).collect()
}
