//! The state of a guest at the instruction that ended it.

use openvm_metal_profile::{disassemble, Executable, Symbols, REGISTERS};
use openvm_metal_sdk::Stop;
use serde::Serialize;

use crate::{error::Result, table};

/// Instructions before the end that are shown.
pub const KEEP: usize = 20;

/// An instruction.
#[derive(Serialize)]
struct Line {
    pc: String,
    instruction: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

/// A stop, as it is printed.
#[derive(Serialize)]
pub struct StopReport {
    /// Reason of the guest's end; nothing if its exit code is 0.
    error: Option<String>,
    /// Number of instructions before the last one.
    executed: u64,
    at: Line,
    registers: Vec<(&'static str, String)>,
    /// Instructions before it, the oldest first.
    before: Vec<Line>,
}

impl StopReport {
    pub fn new(stop: &Stop, exe: &Executable, symbols: &Symbols) -> Self {
        let line = |pc: u32| {
            let index = pc
                .checked_sub(exe.program.pc_base)
                .map(|bytes| bytes as usize / 4);
            let instruction = index
                .filter(|&index| index < exe.program.len())
                .and_then(|index| exe.program.get_instruction_and_debug_info(index));
            Line {
                pc: format!("{pc:#010x}"),
                instruction: instruction.map_or_else(
                    || "no instruction".into(),
                    |(instruction, _)| disassemble(instruction, pc),
                ),
                place: symbols.place(pc),
            }
        };
        let hex = |&value: &u32| format!("{value:#010x}");
        Self {
            error: stop.error.as_ref().map(ToString::to_string),
            executed: stop.executed,
            at: Line {
                place: symbols.places(stop.pc),
                ..line(stop.pc)
            },
            registers: REGISTERS
                .into_iter()
                .zip(stop.registers.iter().map(hex))
                .collect(),
            before: stop.last.iter().copied().map(line).collect(),
        }
    }

    /// Prints it.
    ///
    /// # Errors
    /// Standard output that cannot be written.
    pub fn print(&self, json: bool) -> Result<()> {
        if json {
            return table::json(self);
        }
        let show = |line: &Line, mark: &str| {
            let place = line.place.as_deref().unwrap_or("");
            table::line(format!("{mark} {}  {:<32} {place}", line.pc, line.instruction).trim_end())
        };
        for line in &self.before {
            show(line, " ")?;
        }
        show(&self.at, ">")?;
        table::line(format!(
            "after {} instructions, with the registers",
            self.executed
        ))?;
        for row in self.registers.chunks(4) {
            let row = row.iter().map(|(name, value)| format!("{name:>4} {value}"));
            table::line(row.collect::<Vec<_>>().join("  "))?;
        }
        Ok(())
    }
}
