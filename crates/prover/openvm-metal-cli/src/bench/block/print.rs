//! Results of `bench block` on standard output. There are more figures than inputs, so the table has a column for each input.

use openvm_metal_sdk::MIN_SECURITY_BITS;

use super::result::{BlockResults, CaseResult};
use crate::{error::Result, table};

/// Prints a table, or JSON.
///
/// # Errors
/// Failure of standard output.
pub fn print(results: &BlockResults, json: bool) -> Result<()> {
    if json {
        return table::json(results);
    }
    let cases = &results.cases;
    let names = cases.iter().map(|case| case.name.clone());
    let header: Vec<String> = std::iter::once(String::new()).chain(names).collect();
    let right: Vec<usize> = (1..header.len()).collect();
    let mut rows = table::table(&header, &right);
    let mut row = |name: &str, of: &dyn Fn(&CaseResult) -> String| {
        let figures = cases.iter().map(of);
        let cells: Vec<String> = std::iter::once(name.to_owned()).chain(figures).collect();
        rows.add_row(cells);
    };
    row("instructions", &|case| table::count(case.instructions));
    row("cells", &|case| table::count(case.cells));
    row("segments", &|case| case.segments.to_string());
    row("nodes", &|case| case.nodes.to_string());
    row("time (s)", &|case| number(case.wall_seconds, 3));
    row("million instructions/s", &|case| {
        number(case.million_instructions_per_second, 2)
    });
    row("work of all threads (s)", &|_| String::new());
    row("  execution", &|case| number(case.stages.execution, 2));
    row("  preflight", &|case| number(case.stages.preflight, 2));
    row("  traces", &|case| number(case.stages.traces, 2));
    row("  upload", &|case| number(case.stages.upload, 2));
    row("  prove", &|case| number(case.stages.prove, 2));
    row("  aggregation", &|case| number(case.stages.aggregation, 2));
    if cases.iter().any(|case| case.joules.is_some()) {
        row("energy of the GPUs (J)", &|case| number(case.joules, 1));
        row("J for a million instructions", &|case| {
            number(case.joules_per_million_instructions, 2)
        });
    }
    row("peak of device memory", &|case| {
        bytes(case.device_memory_peak)
    });
    row("peak of this process", &|case| bytes(case.host_memory_peak));
    row("proof", &|case| table::bytes(case.proof_bytes));
    let devices = cases.first().map_or(&[][..], |case| &case.devices[..]);
    for (place, device) in devices.iter().enumerate() {
        row(&format!("idle: {}", device.name), &|case| {
            let idle = case.devices.get(place).map(|device| 100.0 * device.idle);
            idle.map_or_else(unknown, |percent| format!("{percent:.0}%"))
        });
    }

    table::line(format!(
        "block, {} on {}: of {} proofs of each input after {} that did not count, the one of median time; all accepted by OpenVM's verifier",
        results.program,
        results.device,
        cases.first().map_or(0, |case| case.runs_seconds.len()),
        results.warmup
    ))?;
    table::line(rows)?;
    let bits = results.security_bits;
    table::line(match bits < MIN_SECURITY_BITS {
        true => {
            format!("security {bits:.1} bits: WITHOUT SECURITY, times are not those of real proofs")
        }
        false => format!("security {bits:.1} bits"),
    })
}

/// A figure with so many digits behind the point.
fn number(value: impl Into<Option<f64>>, digits: usize) -> String {
    let value: Option<f64> = value.into();
    value.map_or_else(unknown, |value| format!("{value:.digits$}"))
}

fn bytes(value: Option<u64>) -> String {
    value.map_or_else(unknown, table::bytes)
}

/// A figure that neither the system nor a device reports.
fn unknown() -> String {
    "unknown".to_owned()
}
