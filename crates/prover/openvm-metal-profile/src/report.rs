//! `Profile`: costs by function, by line and by chip, as JSON or text.

use std::{cmp::Reverse, fmt::Write};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::{cost::Cost, model::TimeModel, recording::Recording, tree::Frames, Symbols};

/// Costs of one function. A function that is inlined counts for itself, not for the function that it is inlined into.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionCost {
    /// Name; address of the first instruction if the ELF has none.
    pub function: String,
    /// False if the name is an address.
    pub is_named: bool,
    /// Instructions of the function itself.
    pub own: Cost,
    /// Instructions with those of all functions that it called, each instruction once.
    pub total: Cost,
    /// Modelled seconds of its own rows, without padding.
    pub own_seconds: f64,
    pub total_seconds: f64,
}

/// Costs of one line of a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineCost {
    pub file: String,
    pub line: u32,
    pub function: String,
    pub own: Cost,
    pub own_seconds: f64,
}

/// Costs of one chip.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChipCost {
    pub chip: String,
    pub columns: u64,
    /// Rows of instructions and of the memory that they touch.
    pub rows: u64,
    /// Rows of every segment, whatever is executed.
    pub fixed_rows: u64,
    /// All rows, padded to a power of two in each segment.
    pub padded_rows: u64,
    /// Cells of the padded rows.
    pub cells: u64,
    pub seconds: f64,
}

/// Cells that no instruction causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Remainder {
    /// Lookup tables and the program, in each segment.
    pub tables: u64,
    /// Memory of the registers, in each segment.
    pub registers: u64,
    /// Rows that pad heights to powers of two.
    pub padding: u64,
}

impl Remainder {
    /// All of them.
    pub fn cells(&self) -> u64 {
        self.tables + self.registers + self.padding
    }
}

/// Costs of one execution by function, by line and by chip, each list with the largest number of cells first.
///
/// `attributed` and `remainder` add up to `cells`, and the functions' own costs to `attributed`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    pub instructions: u64,
    pub segments: usize,
    /// Cells of all traces with padding, as `openvm-metal run --mode meter` counts them.
    pub cells: u64,
    /// Costs of instructions.
    pub attributed: Cost,
    pub remainder: Remainder,
    /// Share of the attributed cells whose function has a name, from 0 to 1.
    pub named_share: f64,
    /// True if the ELF has line tables.
    pub has_lines: bool,
    /// False if some functions have no caller because there were too many call stacks.
    pub has_all_callers: bool,
    /// Modelled time of the proofs of all segments, in seconds.
    pub proving_seconds: f64,
    /// The part of it that each segment takes whatever is in it.
    pub segment_seconds: f64,
    /// The device of the model.
    pub device: String,
    pub functions: Vec<FunctionCost>,
    pub lines: Vec<LineCost>,
    pub chips: Vec<ChipCost>,
}

impl Profile {
    /// Adds the costs of a recording up.
    pub fn new(recording: &Recording, symbols: &Symbols, model: &TimeModel) -> Self {
        let by_frame = Sums::new(recording, symbols);
        let attributed = recording.attributed();
        let mut functions: Vec<FunctionCost> = by_frame
            .functions
            .into_iter()
            .map(|(function, (is_named, own, total))| FunctionCost {
                function,
                is_named,
                own,
                total,
                own_seconds: model.of(own),
                total_seconds: model.of(total),
            })
            .collect();
        functions
            .sort_by_cached_key(|f| (Reverse((f.own.cells, f.total.cells)), f.function.clone()));
        let mut lines: Vec<LineCost> = by_frame
            .lines
            .into_iter()
            .map(|((file, line, function), own)| LineCost {
                file,
                line,
                function,
                own,
                own_seconds: model.of(own),
            })
            .collect();
        lines.sort_by_cached_key(|l| {
            (
                Reverse(l.own.cells),
                l.file.clone(),
                l.line,
                l.function.clone(),
            )
        });
        let mut chips: Vec<ChipCost> = recording
            .chips
            .iter()
            .filter(|chip| chip.padded_rows > 0)
            .map(|chip| {
                let padded = Cost {
                    instructions: 0,
                    cells: chip.padded_rows * chip.width,
                    messages: chip.padded_rows * chip.messages,
                };
                ChipCost {
                    chip: chip.name.clone(),
                    columns: chip.width,
                    rows: chip.rows,
                    fixed_rows: chip.fixed_rows + chip.register_rows,
                    padded_rows: chip.padded_rows,
                    cells: padded.cells,
                    seconds: model.of(padded),
                }
            })
            .collect();
        chips.sort_by_cached_key(|chip| (Reverse(chip.cells), chip.chip.clone()));
        let all = recording.sum(|chip| chip.rows + chip.fixed_rows + chip.register_rows);
        let named: u64 = functions
            .iter()
            .filter(|f| f.is_named)
            .map(|f| f.own.cells)
            .sum();
        Self {
            instructions: attributed.instructions,
            segments: recording.segments.len(),
            cells: recording.cells(),
            attributed,
            remainder: Remainder {
                tables: recording.sum(|chip| chip.fixed_rows).cells,
                registers: recording.sum(|chip| chip.register_rows).cells,
                padding: recording.cells() - all.cells,
            },
            named_share: named as f64 / attributed.cells.max(1) as f64,
            has_lines: symbols.has_lines(),
            has_all_callers: recording.has_all_callers,
            proving_seconds: model.seconds(recording.segments.len(), recording.cells()),
            segment_seconds: model.of_segments(recording.segments.len()),
            device: model.device.clone(),
            functions,
            lines,
            chips,
        }
    }

    /// The profile as text, with at most so many functions and lines.
    pub fn table(&self, most: usize) -> String {
        let mut text = String::new();
        // A `String` takes all.
        let _ = self.write(&mut text, most);
        text
    }

    fn write(&self, out: &mut String, most: usize) -> std::fmt::Result {
        let share = |cells: u64| 100.0 * cells as f64 / self.cells.max(1) as f64;
        let own = self.attributed;
        writeln!(
            out,
            "{} instructions in {} segments, {} cells of traces\n{} of proving (modelled: {}), of which {} are the same for any segments",
            self.instructions, self.segments, self.cells, time(self.proving_seconds), self.device, time(self.segment_seconds)
        )?;
        writeln!(out, "\n{:>16} {:>6}", "cells", "%")?;
        for (name, cells) in [
            (
                "of instructions and the memory that they touch, below",
                own.cells,
            ),
            (
                "lookup tables and the program, in each segment",
                self.remainder.tables,
            ),
            (
                "memory of registers, in each segment",
                self.remainder.registers,
            ),
            (
                "padding of heights to powers of two",
                self.remainder.padding,
            ),
        ] {
            writeln!(out, "{cells:>16} {:>6.1} {name}", share(cells))?;
        }
        writeln!(
            out,
            "\nFUNCTIONS  (own: the function's own instructions; total: with what it called)\n{:>16} {:>6} {:>16} {:>6} {:>14} {:>10}",
            "own cells", "%", "total cells", "%", "instructions", "own time"
        )?;
        let part = |cells: u64| 100.0 * cells as f64 / own.cells.max(1) as f64;
        for function in self.functions.iter().take(most) {
            writeln!(
                out,
                "{:>16} {:>6.1} {:>16} {:>6.1} {:>14} {:>10} {}",
                function.own.cells,
                part(function.own.cells),
                function.total.cells,
                part(function.total.cells),
                function.own.instructions,
                time(function.own_seconds),
                function.function
            )?;
        }
        if self.functions.len() > most {
            writeln!(
                out,
                "{:>16} and {} functions more",
                "",
                self.functions.len() - most
            )?;
        }
        if self.has_lines {
            writeln!(
                out,
                "\nLINES\n{:>16} {:>6} {:>14} {:>10}",
                "own cells", "%", "instructions", "own time"
            )?;
            for line in self.lines.iter().take(most) {
                writeln!(
                    out,
                    "{:>16} {:>6.1} {:>14} {:>10} {}:{} ({})",
                    line.own.cells,
                    part(line.own.cells),
                    line.own.instructions,
                    time(line.own_seconds),
                    line.file,
                    line.line,
                    line.function
                )?;
            }
            if self.lines.len() > most {
                writeln!(out, "{:>16} and {} lines more", "", self.lines.len() - most)?;
            }
        }
        writeln!(
            out,
            "\nCHIPS  (cells with padding)\n{:>16} {:>6} {:>14} {:>14} {:>8} {:>10}",
            "cells", "%", "rows", "padded rows", "columns", "time"
        )?;
        for chip in &self.chips {
            writeln!(
                out,
                "{:>16} {:>6.1} {:>14} {:>14} {:>8} {:>10} {}",
                chip.cells,
                share(chip.cells),
                chip.rows + chip.fixed_rows,
                chip.padded_rows,
                chip.columns,
                time(chip.seconds),
                chip.chip
            )?;
        }
        Ok(())
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}

/// Costs by the names of frames.
#[derive(Default)]
struct Sums {
    /// Own and total costs of a function, if it is named.
    functions: FxHashMap<String, (bool, Cost, Cost)>,
    lines: FxHashMap<(String, u32, String), Cost>,
}

impl Sums {
    fn new(recording: &Recording, symbols: &Symbols) -> Self {
        let frames = Frames::new(recording, symbols);
        let mut ids: FxHashMap<String, usize> = FxHashMap::default();
        let mut functions: Vec<(String, bool, Cost, Cost)> = Vec::new();
        let mut id = |name: &str, is_named: bool, functions: &mut Vec<_>| {
            *ids.entry(name.to_owned()).or_insert_with(|| {
                functions.push((name.to_owned(), is_named, Cost::default(), Cost::default()));
                functions.len() - 1
            })
        };
        let mut lines: FxHashMap<(String, u32, String), Cost> = FxHashMap::default();
        // Functions on the stack of each stack's caller, that of the stack itself included.
        let mut above: Vec<Vec<usize>> = Vec::with_capacity(recording.stacks.len());
        for stack in &recording.stacks {
            let mut path = stack
                .parent
                .map_or_else(Vec::new, |parent| above[parent].clone());
            for frame in frames.inlined_at(stack.call) {
                let caller = id(&frames.name(frame, stack.function), true, &mut functions);
                if !path.contains(&caller) {
                    path.push(caller);
                }
            }
            let name = symbols.function(stack.function).map(|f| f.name.clone());
            let is_named = name.is_some();
            let name = name.unwrap_or_else(|| format!("{:#010x}", stack.function));
            let function = id(&name, is_named, &mut functions);
            if !path.contains(&function) {
                path.push(function);
            }
            let mut all = Cost::default();
            let mut inlined: FxHashMap<usize, Cost> = FxHashMap::default();
            for &(pc, cost) in &stack.costs {
                all += cost;
                let of = frames.of(pc);
                let mut own = function;
                let mut counted: FxHashSet<usize> = FxHashSet::default();
                for (depth, &frame) in of[..of.len().saturating_sub(1)].iter().enumerate() {
                    let known = id(&frames.name(frame, stack.function), true, &mut functions);
                    if depth == 0 {
                        own = known;
                    }
                    if !path.contains(&known) && counted.insert(known) {
                        *inlined.entry(known).or_default() += cost;
                    }
                }
                functions[own].2 += cost;
                if let Some(place) = of.first().map(|&frame| &frames.frames[frame]) {
                    if let (Some(file), Some(line)) = (&place.file, place.line) {
                        *lines
                            .entry((file.clone(), line, functions[own].0.clone()))
                            .or_default() += cost;
                    }
                }
            }
            for &caller in &path {
                functions[caller].3 += all;
            }
            for (known, cost) in inlined {
                functions[known].3 += cost;
            }
            above.push(path);
        }
        let functions = functions
            .into_iter()
            .map(|(name, is_named, own, total)| (name, (is_named, own, total)));
        Self {
            functions: functions.collect(),
            lines,
        }
    }
}
