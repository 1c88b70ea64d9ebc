//! `openvm-metal run`: executes a program without proving it.

use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use openvm_circuit::arch::execution_mode::Segment;
use openvm_metal_sdk::MetalSdk;
use serde::Serialize;

use crate::{
    error::Result,
    hex, interrupt,
    program::{ExecutionArgs, InputArgs, PrintedToStderr, Program, ProgramArgs, SdkArgs},
    table,
    target_device::DeviceArgs,
};

/// What is found out besides the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Nothing: the fastest.
    Pure,
    /// Instructions, segments, and the cells of the traces that a proof needs.
    Meter,
    /// The same for each segment.
    Segment,
}

#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    input: InputArgs,
    /// What is found out besides the output.
    #[arg(long, value_enum, default_value = "pure")]
    mode: Mode,
    #[command(flatten)]
    execution: ExecutionArgs,
    #[command(flatten)]
    sdk: SdkArgs,
    /// Print one JSON object instead of lines; what the guest prints goes to standard error.
    #[arg(long)]
    json: bool,
}

impl RunArgs {
    /// Where the command runs.
    pub fn device(&mut self) -> &mut DeviceArgs {
        self.sdk.device()
    }
}

#[derive(Serialize)]
struct RunReport {
    program: String,
    public_values: String,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<u64>,
    /// Of all traces, rows padded to powers of two.
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    segments: Vec<SegmentReport>,
}

/// One segment.
#[derive(Serialize)]
struct SegmentReport {
    /// Index of its first instruction.
    start: u64,
    instructions: u64,
    cells: u64,
    /// Rows of its tallest trace.
    rows: u32,
}

/// Runs the command.
///
/// # Errors
/// What goes wrong in the program.
pub fn run(args: &RunArgs) -> Result<()> {
    interrupt::at_once();
    let input = args.input.stdin()?;
    let program = Program::load(&args.program)?;
    let sdk = args.sdk.sdk(&program)?;
    let options = args.execution.options();
    let exe = sdk.executable(program.source())?;
    let printed = PrintedToStderr::if_json(args.json)?;
    let start = Instant::now();
    let (public_values, segments) = match args.mode {
        Mode::Pure => (sdk.execute(exe, input, &options)?, vec![]),
        Mode::Meter | Mode::Segment => {
            let (values, segments) = sdk.execute_metered(exe, input, &options)?;
            (values, segment_reports(&sdk, &segments)?)
        }
    };
    drop(printed);
    let sum = |part: fn(&SegmentReport) -> u64| {
        (args.mode != Mode::Pure).then(|| segments.iter().map(part).sum())
    };
    let mut report = RunReport {
        program: program.name,
        public_values: hex::encode(&public_values),
        seconds: start.elapsed().as_secs_f64(),
        instructions: sum(|segment| segment.instructions),
        cells: sum(|segment| segment.cells),
        segments,
    };
    if args.mode == Mode::Meter && args.json {
        report.segments.clear();
    }
    if args.json {
        return table::json(&report);
    }
    report.print(args.mode)
}

impl RunReport {
    fn print(&self, mode: Mode) -> Result<()> {
        if mode == Mode::Segment {
            let mut rows = table::table(
                &[
                    "segment",
                    "first instruction",
                    "instructions",
                    "cells",
                    "tallest trace",
                ],
                &[0, 1, 2, 3, 4],
            );
            for (index, segment) in self.segments.iter().enumerate() {
                rows.add_row([
                    index.to_string(),
                    segment.start.to_string(),
                    segment.instructions.to_string(),
                    segment.cells.to_string(),
                    segment.rows.to_string(),
                ]);
            }
            table::line(rows)?;
        }
        if let (Some(instructions), Some(cells)) = (self.instructions, self.cells) {
            table::line(format!(
                "{instructions} instructions in {} segments, {cells} cells of traces",
                self.segments.len()
            ))?;
        }
        table::line(format!("public values {}", self.public_values))?;
        let time = table::duration(Duration::from_secs_f64(self.seconds));
        table::line(format!(
            "{} ended with exit code 0 after {time}",
            self.program
        ))
    }
}

fn segment_reports(sdk: &MetalSdk, segments: &[Segment]) -> Result<Vec<SegmentReport>> {
    let key = sdk.app_pk()?;
    let widths: Vec<u64> = key
        .app_vm_pk
        .vm_pk
        .per_air
        .iter()
        .map(|air| air.vk.params.width.main_width() as u64)
        .collect();
    let padded = |height: u32| {
        if height == 0 {
            0
        } else {
            u64::from(height).next_power_of_two()
        }
    };
    let report = |segment: &Segment| SegmentReport {
        start: segment.instret_start,
        instructions: segment.num_insns,
        cells: segment
            .trace_heights
            .iter()
            .zip(&widths)
            .map(|(&height, width)| padded(height) * width)
            .sum(),
        rows: segment.trace_heights.iter().copied().max().unwrap_or(0),
    };
    Ok(segments.iter().map(report).collect())
}
