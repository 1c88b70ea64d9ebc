//! `openvm-metal run`: executes a program without proving it.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use openvm_circuit::arch::execution_mode::Segment;
use openvm_metal_profile::{Executable, Recording};
use openvm_metal_sdk::{replay, MetalSdk};
use openvm_sdk::StdIn;
use serde::Serialize;

use crate::{
    costs::CostArgs,
    debug::{self, StopReport},
    error::Result,
    hex, interrupt,
    program::{ExecutionArgs, InputArgs, Printed, Program, ProgramArgs, SdkArgs},
    public_values::OutputType,
    table,
    target_device::DeviceArgs,
};

/// Information beside the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Execute only (fastest).
    Pure,
    /// Count instructions, segments, and cells of the traces of a proof.
    Meter,
    /// Count them for each segment.
    Segment,
}

#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    input: InputArgs,
    /// Select the information to gather.
    #[arg(long, value_enum, default_value = "pure")]
    mode: Mode,
    /// Print the public values in this form.
    #[arg(long, value_enum, default_value = "hex")]
    output_type: OutputType,
    #[command(flatten)]
    execution: ExecutionArgs,
    #[command(flatten)]
    sdk: SdkArgs,
    /// Take names and lines from this ELF [default: NAME.elf or NAME in the folder of the .vmexe, or in the guest's target folder].
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    #[command(flatten)]
    costs: CostArgs,
    /// Show the instruction that ends the guest, with function and line, registers, and the instructions before it.
    #[arg(long, conflicts_with_all = ["mode", "costs", "flamegraph", "pprof"])]
    debug: bool,
    /// Print one JSON object instead of lines; the guest's output goes to standard error.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RunReport {
    program: String,
    /// Public values in hexadecimal.
    public_values: String,
    /// Public values in the requested form.
    output: serde_json::Value,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<u64>,
    /// Cells of all traces, rows padded to powers of two.
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
pub fn run(args: &RunArgs, device: DeviceArgs) -> Result<()> {
    interrupt::at_once();
    let program = args.program.read_files().into_iter();
    let elf = args.elf.clone().map(|file| ("--elf", file));
    let read = program.chain(args.input.read_file()).chain(elf);
    args.costs.check(read.chain(args.sdk.read_files()))?;
    let input = args.input.stdin()?;
    let program = Program::load(&args.program)?;
    let sdk = args.sdk.sdk(&program.settings, device)?;
    let output = Printed::plain(args.json);
    let exe = sdk.executable(program.source())?;
    if args.debug {
        return debug(args, &program, &sdk, &exe, input, output);
    }
    let options = args.execution.options().with_output(&output);
    let at_place = |error| program.at_place(error);
    let (public_values, time, segments) = match args.mode {
        _ if args.costs.is_given() => {
            let elf = program.symbols_elf(args.elf.as_deref())?;
            elf.as_deref().map_or(Ok(()), |elf| args.costs.spare(elf))?;
            let symbols = program.symbols(elf.as_deref(), true)?;
            let run = Recording::of(&sdk, &exe, input, &options, &symbols).map_err(at_place)?;
            args.costs.write(&run, &symbols)?;
            let segments = segment_reports(&sdk, &run.segments)?;
            (run.public_values, run.time, segments)
        }
        Mode::Pure => {
            let start = Instant::now();
            let values = sdk.execute(exe, input, &options).map_err(at_place)?;
            (values, start.elapsed(), vec![])
        }
        Mode::Meter | Mode::Segment => {
            let run = sdk
                .execute_metered(exe, input, &options)
                .map_err(at_place)?;
            let segments = segment_reports(&sdk, &run.segments)?;
            (run.public_values, run.time, segments)
        }
    };
    drop(output);
    let is_metered = args.mode != Mode::Pure || args.costs.is_given();
    let sum = |part: fn(&SegmentReport) -> u64| is_metered.then(|| segments.iter().map(part).sum());
    let mut report = RunReport {
        program: program.name,
        output: args.output_type.of(&public_values),
        public_values: hex::encode(&public_values),
        seconds: time.as_secs_f64(),
        instructions: sum(|segment| segment.instructions),
        cells: sum(|segment| segment.cells),
        segments,
    };
    if args.mode != Mode::Segment && args.json {
        report.segments.clear();
    }
    if args.json {
        return table::json(&report);
    }
    report.print(args.mode, &args.output_type.line(&public_values))
}

/// Shows the guest at the instruction that ends it.
fn debug(
    args: &RunArgs,
    program: &Program,
    sdk: &MetalSdk,
    exe: &Executable,
    input: StdIn,
    output: Printed,
) -> Result<()> {
    let elf = program.symbols_elf(args.elf.as_deref())?;
    let symbols = program.symbols(elf.as_deref(), true)?;
    let config = &sdk.app_config().app_vm_config;
    let bound = args.execution.max_instructions();
    let stop = replay(config, exe, input, bound, debug::KEEP, &output)?;
    // A line that the guest left open ends before the report.
    drop(output);
    StopReport::new(&stop, exe, &symbols).print(args.json)?;
    match stop.error {
        Some(error) => Err(program.at_place(error)),
        None if args.json => Ok(()),
        None => table::line(format!("{} ended with exit code 0", program.name)),
    }
}

impl RunReport {
    fn print(&self, mode: Mode, output: &str) -> Result<()> {
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
                    table::count(segment.start),
                    table::count(segment.instructions),
                    table::count(segment.cells),
                    table::count(segment.rows.into()),
                ]);
            }
            table::line(rows)?;
        }
        if let (Some(instructions), Some(cells)) = (self.instructions, self.cells) {
            table::line(format!(
                "{} instructions in {} {}, {} cells of traces",
                table::count(instructions),
                self.segments.len(),
                table::plural(self.segments.len() as u64, "segment"),
                table::count(cells)
            ))?;
        }
        table::line(format!("public values {output}"))?;
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
