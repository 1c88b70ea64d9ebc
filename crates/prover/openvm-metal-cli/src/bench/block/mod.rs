//! Benchmark of whole executions: `openvm-metal bench block`.
//!
//! Each input is proved a few times to one aggregated proof. What a process does once is done before the first clock starts.

mod print;
mod result;

use std::{num::NonZeroUsize, path::Path, sync::Arc, time::Instant};

use clap::Args;
use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_metal_sdk::{DeviceList, MetalSdk, ProveOptions};
use openvm_sdk::{StdIn, F};

use self::result::{BlockResults, Run};
use super::energy::Energy;
use crate::{
    error::Result,
    host::peak_memory,
    interrupt,
    program::{stdin_of, Program, ProgramArgs, SdkArgs},
    table,
    target_device::DeviceArgs,
};

/// Options of `bench block`.
#[derive(Args, Debug)]
pub struct BlockArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Prove the execution with this input: a file, or a value as `prove stark` takes it. Several inputs are proved one after another.
    #[arg(long = "input", value_name = "FILE", required = true)]
    inputs: Vec<String>,
    /// Measure N proofs of each input; the one of median time is reported.
    #[arg(long, value_name = "N", default_value = "3")]
    runs: NonZeroUsize,
    /// Make N proofs of each input before the measurement.
    #[arg(long, value_name = "N", default_value_t = 1)]
    warmup: usize,
    /// Prove on several devices: auto for all GPUs (else the CPU), or names as cuda:0,cuda:1.
    ///
    /// The CPU may be named several times, a GPU once.
    #[arg(long, value_name = "LIST", conflicts_with = "device")]
    devices: Option<DeviceList>,
    #[command(flatten)]
    sdk: SdkArgs,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the benchmark. No proof is written.
///
/// # Errors
/// Errors of the inputs, the program, and the proofs.
pub fn run(args: &BlockArgs, device: DeviceArgs) -> Result<()> {
    // Nothing is left half done.
    interrupt::at_once();
    let inputs = args.inputs.iter().map(|text| stdin_of(text));
    let inputs = inputs.collect::<Result<Vec<StdIn>>>()?;
    let program = Program::load(&args.program)?;
    table::note("block: devices, keys and program");
    let devices = args.devices.as_ref();
    let sdk = args
        .sdk
        .sdk_on(&program.settings, device, devices, None, None)?;
    // Before anything takes long.
    args.sdk.security_bits(&sdk)?;
    let exe = sdk.executable(program.source())?;
    // Application keys on every device, and the commitment to the program.
    drop(sdk.app_prover(exe.clone())?);
    sdk.aggregation_keys()?;
    let subject = Subject {
        energy: Energy::open(&sdk.devices()?),
        program: &program,
        exe,
        sdk,
    };

    // A guest that fails says so before anything is measured.
    for (text, input) in args.inputs.iter().zip(&inputs) {
        table::note(format_args!("block, {}: execution", name_of(text)));
        let options = ProveOptions::default().with_output(&());
        let executed = subject
            .sdk
            .execute(subject.exe.clone(), input.clone(), &options);
        executed.map_err(|error| program.at_place(error))?;
    }

    let mut results = BlockResults::new(program.name.clone(), args.warmup);
    for (place, (text, input)) in args.inputs.iter().zip(&inputs).enumerate() {
        let name = name_of(text);
        let case = format!("block, {name} ({} of {})", place + 1, inputs.len());
        for _ in 0..args.warmup {
            table::note(format_args!("{case}: warming up"));
            subject.prove(input)?;
        }
        let mut runs = Vec::with_capacity(args.runs.get());
        for number in 1..=args.runs.get() {
            let run = subject.prove(input)?;
            table::note(format_args!(
                "{case}: run {number} of {}, {}",
                args.runs,
                table::duration(run.wall)
            ));
            runs.push(run);
        }
        results.add(name, &runs);
    }
    print::print(&results, args.json)
}

/// A program that is ready to be proved.
struct Subject<'a> {
    /// The counter of the GPUs, if they have one.
    energy: Option<Energy>,
    program: &'a Program,
    exe: Arc<VmExe<F>>,
    sdk: MetalSdk,
}

impl Subject<'_> {
    /// Makes one proof, which the SDK has verified.
    fn prove(&self, input: &StdIn) -> Result<Run> {
        let (exe, input) = (self.exe.clone(), input.clone());
        let options = ProveOptions::default().with_output(&());
        let before = self.joules();
        let clock = Instant::now();
        let proved = self.sdk.prove(exe, input, &options);
        let wall = clock.elapsed();
        let after = self.joules();
        let proved = proved.map_err(|error| self.program.at_place(error))?;
        Ok(Run {
            wall,
            joules: before.zip(after).map(|(before, after)| after - before),
            host_memory_peak: peak_memory(),
            report: proved.report,
        })
    }

    fn joules(&self) -> Option<f64> {
        self.energy.as_ref().and_then(Energy::joules)
    }
}

/// The name of an input: its text, cut if it is a long value.
fn name_of(text: &str) -> String {
    const MOST: usize = 48;
    match text.char_indices().nth(MOST) {
        Some((end, _)) if !Path::new(text).exists() => format!("{}...", &text[..end]),
        _ => text.to_owned(),
    }
}
