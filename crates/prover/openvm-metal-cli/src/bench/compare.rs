//! `openvm-metal bench compare`: two results of proofs beside each other.

use std::{collections::BTreeSet, path::PathBuf};

use clap::Args;

use super::proofs::{CaseResult, ProofResults};
use crate::{
    error::{CliError, Result},
    table,
};

/// Spans that take less than this in both results are left out, in milliseconds.
const LEAST_MS: f64 = 0.5;

/// Options of `bench compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Results to compare, as `bench keccakf --json` and the like print it.
    a: PathBuf,
    /// Results to compare with.
    b: PathBuf,
    /// Compare spans that both engines name alike, too.
    #[arg(long)]
    spans: bool,
}

/// Verdict on two times: do they differ by more than they vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Faster,
    Slower,
    WithinSpread,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::WithinSpread => "within the spread",
        })
    }
}

fn verdict(a: &CaseResult, b: &CaseResult) -> Verdict {
    let difference = a.median_ms() - b.median_ms();
    if difference.abs() <= a.spread_ms() + b.spread_ms() {
        Verdict::WithinSpread
    } else if difference < 0.0 {
        Verdict::Faster
    } else {
        Verdict::Slower
    }
}

/// Compares two files.
///
/// # Errors
/// If a file is no result of proofs, or they are not of one benchmark.
pub fn run(args: &CompareArgs) -> Result<()> {
    let (a, b) = (ProofResults::read(&args.a)?, ProofResults::read(&args.b)?);
    if (&a.benchmark, a.log_stacked) != (&b.benchmark, b.log_stacked) {
        return Err(CliError::Usage(
            "the files are of different benchmarks or stacked heights",
        ));
    }
    let pairs: Vec<_> = a
        .cases
        .iter()
        .filter_map(|a| {
            Some((
                a,
                b.cases
                    .iter()
                    .find(|b| b.name == a.name && b.cells == a.cells)?,
            ))
        })
        .collect();
    if pairs.is_empty() {
        return Err(CliError::Usage("the files have no case in common"));
    }
    for (letter, results) in [("A", &a), ("B", &b)] {
        table::line(format!(
            "{letter}: {}, engine {} on {}, version {} ({})",
            results.benchmark, results.engine, results.device, results.version, results.commit
        ))?;
    }
    let header = ["case", "A", "B", "A / B", ""];
    let mut rows = table::table(&header, &[1, 2, 3]);
    let mut sums = [0.0; 2];
    for (a, b) in &pairs {
        let times = [a.median_ms(), b.median_ms()];
        sums = [sums[0] + times[0], sums[1] + times[1]];
        rows.add_row(row(&a.name, times, &verdict(a, b).to_string()));
        if args.spans {
            let names: BTreeSet<&String> = a.spans_ms.keys().collect();
            for name in names {
                let Some(&other) = b.spans_ms.get(name) else {
                    continue;
                };
                let times = [a.spans_ms[name], other];
                if times.iter().any(|&ms| ms >= LEAST_MS) {
                    rows.add_row(row(&format!("  {name}"), times, ""));
                }
            }
        }
    }
    if pairs.len() > 1 {
        rows.add_row(row("sum", sums, ""));
    }
    table::line(rows)
}

fn row(name: &str, [a, b]: [f64; 2], verdict: &str) -> [String; 5] {
    [
        name.to_owned(),
        format!("{a:.1} ms"),
        format!("{b:.1} ms"),
        format!("{:.2}", a / b.max(1e-9)),
        verdict.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn case(times_ms: &[f64]) -> CaseResult {
        CaseResult {
            name: "2^10".into(),
            cells: 1,
            proof_bytes: 1,
            times_ms: times_ms.to_vec(),
            spans_ms: BTreeMap::new(),
            counts: None,
        }
    }

    #[test]
    fn a_difference_below_the_spread_is_none() {
        let a = case(&[10.0, 11.0, 12.0]);
        assert_eq!(
            verdict(&a, &case(&[12.0, 13.0, 12.5])),
            Verdict::WithinSpread
        );
        assert_eq!(verdict(&a, &case(&[20.0, 20.5, 21.0])), Verdict::Faster);
        assert_eq!(verdict(&case(&[20.0, 20.5, 21.0]), &a), Verdict::Slower);
    }
}
