//! `openvm-metal bench report`: results as one HTML page that holds everything it needs.

mod charts;
mod html;

use std::{fs, path::PathBuf};

use clap::Args;
use serde::de::DeserializeOwned;

use self::charts::{memory, phases, roofline, timeline};
use super::{
    kernels::KernelResults,
    proofs::{CaseResult, ProofResults},
};
use crate::{
    error::{CliError, Result},
    file, table,
};

/// Options of `bench report`.
#[derive(Args, Debug)]
pub struct PageArgs {
    /// Results of `bench kernels`, `keccakf`, `interactions` or `reth`, printed with --json. Proofs of one benchmark by
    /// several engines are drawn beside each other.
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// The page.
    #[arg(long, value_name = "FILE", default_value = "bench.html")]
    out: PathBuf,
}

/// All results that were read.
#[derive(Default)]
struct Results {
    kernels: Vec<KernelResults>,
    proofs: Vec<ProofResults>,
}

/// Writes the page.
///
/// # Errors
/// If a file is no result of a benchmark, or the page cannot be drawn or written.
pub fn run(args: &PageArgs) -> Result<()> {
    file::probe(&args.out)?;
    let mut results = Results::default();
    for path in &args.results {
        results.add(path)?;
    }
    let page = results.page().map_err(CliError::Chart)?;
    fs::write(&args.out, page).map_err(|source| CliError::Write {
        path: args.out.display().to_string(),
        source,
    })?;
    table::line(format!("{}", args.out.display()))
}

impl Results {
    fn add(&mut self, path: &PathBuf) -> Result<()> {
        let name = || path.display().to_string();
        let text = fs::read_to_string(path).map_err(|source| CliError::Read {
            path: name(),
            source,
        })?;
        match (parse(&text), parse(&text)) {
            (Ok(kernels), _) => self.kernels.push(kernels),
            (_, Ok(proofs)) => self.proofs.push(proofs),
            (_, Err(reason)) => {
                return Err(CliError::Corrupt {
                    path: name(),
                    what: "result of a benchmark",
                    reason,
                })
            }
        }
        Ok(())
    }

    fn page(&self) -> Result<String, String> {
        let mut page = html::Page::new("openvm-metal: benchmarks");
        for kernels in &self.kernels {
            page.section(&format!("Kernels on {}", kernels.device.name));
            page.figure(
                &roofline(kernels)?,
                "Each kernel at its products per byte, by its cost clauses; the line is what the measured peaks allow.",
            );
            page.table(
                &[
                    "kernel",
                    "size",
                    "time",
                    "of its floor",
                    "bound by",
                    "in proofs",
                ],
                kernels.kernels.iter().map(|row| {
                    [
                        row.kernel.clone(),
                        row.size.clone(),
                        table::duration(std::time::Duration::from_secs_f64(row.seconds)),
                        format!("{:.0}%", row.percent_of_floor),
                        row.bound.clone(),
                        row.mark().to_owned(),
                    ]
                }),
            );
        }
        let mut benchmarks: Vec<&str> = Vec::new();
        for results in &self.proofs {
            if !benchmarks.contains(&results.benchmark.as_str()) {
                benchmarks.push(&results.benchmark);
            }
        }
        for benchmark in benchmarks {
            let of = |results: &&ProofResults| results.benchmark == benchmark;
            let all: Vec<&ProofResults> = self.proofs.iter().filter(of).collect();
            page.section(&format!("Proofs: {benchmark}"));
            page.table(
                &["engine", "device", "case", "median", "spread", "waits"],
                all.iter().flat_map(|results| {
                    results.cases.iter().map(|case| {
                        let waits = case.counts.as_ref().map(|counts| counts.waits.to_string());
                        [
                            results.engine.clone(),
                            results.device.clone(),
                            case.name.clone(),
                            format!("{:.1} ms", case.median_ms()),
                            format!("{:.1} ms", case.spread_ms()),
                            waits.unwrap_or_else(|| "-".into()),
                        ]
                    })
                }),
            );
            let mut names: Vec<&str> = Vec::new();
            for case in all.iter().flat_map(|results| &results.cases) {
                if !names.contains(&case.name.as_str()) {
                    names.push(&case.name);
                }
            }
            for name in names {
                let cases: Vec<(&str, &CaseResult)> = all
                    .iter()
                    .filter_map(|results| {
                        let case = results.cases.iter().find(|case| case.name == name)?;
                        Some((results.engine.as_str(), case))
                    })
                    .collect();
                page.figure(
                    &phases(name, &cases)?,
                    &format!("{name}: phases by the engines' own names, medians."),
                );
                for (engine, case) in cases {
                    let Some(counts) = &case.counts else {
                        continue;
                    };
                    page.figure(
                        &timeline(counts)?,
                        &format!("{name}, engine {engine}: stages of the last proof one after another; dark: the host waits for the device."),
                    );
                    page.figure(
                        &memory(counts)?,
                        &format!("{name}, engine {engine}: most device memory in each stage."),
                    );
                }
            }
        }
        Ok(page.end())
    }
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
