//! Tables and JSON on standard output, progress on standard error.

use std::io::Write;

use comfy_table::{presets, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table};
use console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::{
    error::{CliError, Result},
    progress, shown,
};

/// Columns of a terminal below which cells are not folded: there would be a few letters on each line.
const NARROW: u16 = 60;

/// A table with a header; the columns named in `right` are aligned right.
pub fn table<S: AsRef<str>>(header: &[S], right: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    // A terminal may say that it has no columns, as one that is being set up does.
    if let Some((_, width)) = Term::stdout().size_checked() {
        table.set_width(width);
    }
    table.set_content_arrangement(match table.width() {
        Some(width) if width < NARROW => ContentArrangement::Disabled,
        _ => ContentArrangement::Dynamic,
    });
    table.set_header(header.iter().map(|name| Cell::new(name.as_ref())));
    for &column in right {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table
}

/// Prints a line, on a terminal without control characters; a closed pipe is an error, not a panic.
///
/// # Errors
/// If standard output cannot be written.
pub fn line(text: impl std::fmt::Display) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let text = shown::on(&out, text);
    writeln!(out, "{text}").map_err(CliError::Output)
}

/// Prints a line to standard error, on a terminal without control characters. A standard error that takes nothing, as a log on a full disk,
/// ends no work.
pub fn note(text: impl std::fmt::Display) {
    let text = shown::on(&std::io::stderr(), text);
    let _ = progress::suspended(|| writeln!(std::io::stderr().lock(), "{text}"));
}

/// Prints a value as indented JSON.
///
/// # Errors
/// If standard output cannot be written.
pub fn json(value: &impl Serialize) -> Result<()> {
    line(serde_json::to_string_pretty(value)?)
}

/// A progress bar on standard error; invisible if it is no terminal or `hidden` is set.
pub fn progress(steps: usize, hidden: bool) -> ProgressBar {
    let bar = if hidden {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(steps as u64)
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos}/{len} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// A byte count with a binary unit.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{n} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

/// A duration in the unit that suits it.
pub fn duration(d: std::time::Duration) -> String {
    let s = d.as_secs_f64();
    if s >= 1.0 {
        format!("{s:.2} s")
    } else if s >= 1e-3 {
        format!("{:.2} ms", s * 1e3)
    } else {
        format!("{:.1} us", s * 1e6)
    }
}

/// Unit of the durations, or of the sizes, in one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Name of the unit, for the column's header.
    pub name: &'static str,
    scale: f64,
    digits: usize,
}

impl Unit {
    /// The unit in which the longest of these durations reads well.
    pub fn of_times(times: impl IntoIterator<Item = std::time::Duration>) -> Self {
        let longest = times.into_iter().max().unwrap_or_default().as_secs_f64();
        let (name, scale, digits) = match longest {
            s if s >= 100.0 => ("s", 1.0, 1),
            s if s >= 1.0 => ("s", 1.0, 2),
            s if s >= 1e-3 => ("ms", 1e-3, 2),
            _ => ("us", 1e-6, 1),
        };
        Self {
            name,
            scale,
            digits,
        }
    }

    /// A duration as a number of this unit. A small one is never zero.
    pub fn time(self, time: std::time::Duration) -> String {
        self.number(time.as_secs_f64())
    }

    /// The column's header.
    pub fn header(self, what: &str) -> String {
        format!("{what} ({})", self.name)
    }

    fn number(self, value: f64) -> String {
        let (value, digits) = (value / self.scale, self.digits);
        let least = 0.1_f64.powi(digits as i32);
        match value {
            0.0 => "0".into(),
            v if v < least => format!("< {least:.digits$}"),
            v => format!("{v:.digits$}"),
        }
    }
}

/// Bytes as a number of MiB, for a column of sizes.
pub fn mib(bytes: u64) -> String {
    let unit = Unit {
        name: "MiB",
        scale: f64::from(1u32 << 20),
        digits: 2,
    };
    unit.number(bytes as f64)
}

/// A duration in whole seconds, for people who wait.
pub fn rough(d: std::time::Duration) -> String {
    let s = d.as_secs_f64().ceil() as u64;
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

/// A number with a comma between thousands.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A noun for so many things.
pub fn plural(n: u64, noun: &str) -> String {
    match n {
        1 => noun.to_owned(),
        _ => format!("{noun}s"),
    }
}

/// A rate with a decimal unit, `per_second` things a second.
pub fn rate(per_second: f64) -> String {
    let (scale, unit) = match per_second {
        x if x >= 1e12 => (1e12, "T"),
        x if x >= 1e9 => (1e9, "G"),
        x if x >= 1e6 => (1e6, "M"),
        x if x >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    format!("{:.2} {unit}", per_second / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "16777216.0 TiB");
        assert_eq!(duration(std::time::Duration::from_micros(1500)), "1.50 ms");
        assert_eq!(rate(2.5e9), "2.50 G");
        assert_eq!(
            [0, 1, 3 << 19, 1 << 34].map(mib),
            ["0", "< 0.01", "1.50", "16384.00"]
        );
        let numbers = [0, 999, 1000, 45_701_000, u64::MAX].map(count);
        let texts = [
            "0",
            "999",
            "1,000",
            "45,701,000",
            "18,446,744,073,709,551,615",
        ];
        assert_eq!(numbers, texts);
        let times = [0.0, 0.2, 59.0, 125.0, 3780.0].map(std::time::Duration::from_secs_f64);
        let texts = ["0 s", "1 s", "59 s", "2 min 5 s", "1 h 3 min"];
        assert_eq!(times.map(rough), texts);
    }

    /// Catches columns of several units, and work that took no time at all.
    #[test]
    fn durations_of_one_column_have_one_unit() {
        let column = |seconds: &[f64]| -> Vec<String> {
            let times = seconds
                .iter()
                .copied()
                .map(std::time::Duration::from_secs_f64);
            let unit = Unit::of_times(times.clone());
            let numbers = times.map(|time| unit.time(time));
            std::iter::once(unit.name.to_owned())
                .chain(numbers)
                .collect()
        };
        assert_eq!(
            column(&[0.0, 2.5e-8, 0.5, 27.25]),
            ["s", "0", "< 0.01", "0.50", "27.25"]
        );
        assert_eq!(column(&[0.0015, 2e-6]), ["ms", "1.50", "< 0.01"]);
        assert_eq!(column(&[512.34, 0.01]), ["s", "512.3", "< 0.1"]);
        assert_eq!(column(&[3e-6]), ["us", "3.0"]);
        assert_eq!(Unit::of_times([]).header("time"), "time (us)");
    }
}
