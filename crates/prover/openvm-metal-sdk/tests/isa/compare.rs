//! Comparison of executions and proofs with the reference executor.

use std::sync::LazyLock;

use openvm_circuit::arch::{instructions::exe::VmExe, VirtualMachine};
use openvm_metal_common::Device;
use openvm_metal_sdk::{
    decode_elf, parameters::toy_app, replay, Fault, MetalSdk, ProveOptions, Sdk, SdkError, Stop,
};
use openvm_sdk::StdIn;
use openvm_sdk_config::{SdkVmConfig, SdkVmCpuBuilder};
use openvm_stark_backend::StarkEngine;
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2CpuEngine;
use p3_baby_bear::BabyBear;

use crate::{
    elf::elf,
    generate::{Program, PUBLIC_VALUES},
    reference::{self, End, Outcome},
};

/// Most instructions of a program.
pub const BOUND: u64 = 1 << 15;

/// RV32IM with input and output.
fn config() -> SdkVmConfig {
    let mut config = SdkVmConfig::riscv32();
    let system = &mut config.system.config;
    *system = system.clone().with_public_values(PUBLIC_VALUES);
    config
}

/// The SDK that all programs share, with toy parameters.
pub fn sdk() -> &'static MetalSdk {
    static SDK: LazyLock<MetalSdk> = LazyLock::new(|| {
        Sdk::builder(Device::Cpu)
            .min_security_bits(0.0)
            .vm_config(config())
            .app_params(toy_app(21))
            .build()
            .expect("the settings go together")
    });
    &SDK
}

/// OpenVM's own machine.
type Stock = VirtualMachine<BabyBearPoseidon2CpuEngine, SdkVmCpuBuilder>;

/// The heights that OpenVM's metered interpreter gives the only segment of an execution.
fn stock_heights(exe: &VmExe<BabyBear>, input: StdIn) -> Result<Vec<u32>, String> {
    thread_local! {
        static STOCK: Stock = {
            let engine = BabyBearPoseidon2CpuEngine::new(toy_app(21));
            let machine = VirtualMachine::new_with_keygen(engine, SdkVmCpuBuilder, config());
            machine.expect("a machine").0
        };
    }
    STOCK.with(|stock| {
        let interpreter = stock.metered_interpreter(exe).map_err(|e| e.to_string())?;
        let run = interpreter.execute_metered(input, stock.build_metered_ctx(exe));
        let (segments, _) = run.map_err(|error| error.to_string())?;
        match segments.as_slice() {
            [segment] => Ok(segment.trace_heights.clone()),
            _ => Err(format!("OpenVM cuts {} segments", segments.len())),
        }
    })
}

fn input(program: &Program) -> StdIn {
    let mut input = StdIn::default();
    for bytes in &program.inputs {
        input.write_bytes(bytes);
    }
    input
}

/// Result of an execution: the public values, or the end that the error names.
type Seen = Result<Vec<u8>, End>;

/// The end that an error names. Addresses have to bear out its reason.
fn end_of(error: &SdkError) -> Result<End, String> {
    Ok(match *error {
        SdkError::GuestExit { code, pc } => End::Exit { pc, code },
        SdkError::UnknownInstruction { pc, word, .. } => End::Refused { pc, word },
        SdkError::InputExhausted { pc, .. } => End::Input { pc },
        SdkError::InstructionBound { .. } => End::Bound,
        SdkError::GuestFault { pc, ref fault } => match *fault {
            Fault::Misaligned { address, align, .. } if !address.is_multiple_of(align) => {
                End::Memory { pc, address }
            }
            Fault::OutsideMemory { address, bytes, .. }
                if u64::from(address) + u64::from(bytes) > u64::from(reference::MEMORY) =>
            {
                End::Memory { pc, address }
            }
            Fault::MisalignedReveal { offset, .. } if !offset.is_multiple_of(4) => End::Reveal {
                pc,
                address: offset,
            },
            Fault::OutsidePublicValues { offset, .. } if offset as usize + 4 > PUBLIC_VALUES => {
                End::Reveal {
                    pc,
                    address: offset,
                }
            }
            Fault::MisalignedJump { target } if !target.is_multiple_of(4) => End::Jump {
                pc,
                address: target,
            },
            Fault::OutsideCode { target } => End::Jump {
                pc,
                address: target,
            },
            Fault::HintWords { words: count, .. } | Fault::RandomWords { words: count, .. } => {
                End::HintCount { pc, count }
            }
            Fault::NoInstruction => End::NoInstruction { pc },
            ref other => return Err(format!("an unexpected fault: {other:?}")),
        },
        ref other => return Err(format!("an unexpected error: {other:?}")),
    })
}

fn seen<T>(result: Result<T, SdkError>, values: impl Fn(T) -> Vec<u8>) -> Result<Seen, String> {
    match result {
        Ok(ok) => Ok(Ok(values(ok))),
        Err(error) => end_of(&error).map(Err),
    }
}

fn expected(outcome: &Outcome) -> Seen {
    match outcome.end {
        End::Exit { code: 0, .. } => Ok(outcome.public_values.clone()),
        end => Err(end),
    }
}

/// A bound on instructions, and no output.
fn options(bound: u64) -> ProveOptions<'static> {
    ProveOptions::default()
        .with_max_instructions(bound)
        .with_output(&())
}

/// Counts of a campaign.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub programs: usize,
    /// Programs that exit with code 0.
    pub ended: usize,
    pub instructions: u64,
    /// Executions whose constraints were checked, without proofs.
    pub checked: usize,
    pub proofs: usize,
}

impl Counts {
    pub fn add(&mut self, other: Self) {
        self.programs += other.programs;
        self.ended += other.ended;
        self.instructions += other.instructions;
        self.checked += other.checked;
        self.proofs += other.proofs;
    }
}

/// A difference between the reference executor and `mode`.
fn difference(mode: &str, got: &Seen, expected: &Seen) -> Result<(), String> {
    match got == expected {
        true => Ok(()),
        false => Err(format!(
            "{mode}:\n  {}\nreference executor:\n  {}",
            text(got),
            text(expected)
        )),
    }
}

fn text(seen: &Seen) -> String {
    match seen {
        Ok(values) => {
            let words: Vec<_> = values
                .chunks(4)
                .map(|word| {
                    let word: [u8; 4] = word.try_into().expect("whole words");
                    format!("{:x}", u32::from_le_bytes(word))
                })
                .collect();
            format!("reveals {}", words.join(" "))
        }
        Err(end) => format!("{end:x?}"),
    }
}

/// Runs a program in each mode and compares.
pub fn execute(program: &Program, counts: &mut Counts) -> Result<(), String> {
    let outcome = reference::run(&program.image, &program.inputs, PUBLIC_VALUES, BOUND);
    counts.programs += 1;
    counts.instructions += outcome.instructions;
    let expected = expected(&outcome);
    counts.ended += usize::from(expected.is_ok());

    let options = options(BOUND);
    let elf = decode_elf(&elf(&program.image)).map_err(|error| error.to_string())?;
    let exe = sdk().executable(elf);
    let exe = match exe {
        Ok(exe) => exe,
        Err(error) => return difference("transpiler", &Err(end_of(&error)?), &expected),
    };

    let got = sdk().execute(exe.clone(), input(program), &options);
    difference("pure", &seen(got, |values| values)?, &expected)?;

    let got = sdk().execute_metered(exe.clone(), input(program), &options);
    if let Ok(run) = &got {
        if run.instructions() != outcome.instructions {
            return Err(format!(
                "metered: {} instructions, reference executor: {}",
                run.instructions(),
                outcome.instructions
            ));
        }
        let [segment] = run.segments.as_slice() else {
            return Err(format!("metered: {} segments", run.segments.len()));
        };
        let expected = stock_heights(&exe, input(program))?;
        if segment.trace_heights != expected {
            let got = &segment.trace_heights;
            return Err(format!("heights: {got:?}, OpenVM's: {expected:?}"));
        }
    }
    difference("metered", &seen(got, |run| run.public_values)?, &expected)?;

    let config = &sdk().app_config().app_vm_config;
    match replay(config, &exe, input(program), BOUND, 0, &()) {
        Ok(stop) => stopped(&stop, &outcome),
        Err(error) => difference("replay", &Err(end_of(&error)?), &expected),
    }
}

/// Compares the state in which a replay stops.
fn stopped(stop: &Stop, outcome: &Outcome) -> Result<(), String> {
    let (pc, executed) = match outcome.end {
        End::NoInstruction { pc } => (pc, outcome.instructions),
        End::Exit { pc, .. }
        | End::Memory { pc, .. }
        | End::Reveal { pc, .. }
        | End::Jump { pc, .. }
        | End::Input { pc }
        | End::HintCount { pc, .. } => (pc, outcome.instructions - 1),
        End::Refused { .. } | End::Bound => return Err(format!("replay: {stop:x?}")),
    };
    let end = match &stop.error {
        None => End::Exit {
            pc: stop.pc,
            code: 0,
        },
        Some(error) => end_of(error)?,
    };
    let got = (end, stop.pc, stop.executed, stop.registers);
    let expected = (outcome.end, pc, executed, outcome.registers);
    match got == expected {
        true => Ok(()),
        false => Err(format!(
            "replay:\n  {got:x?}\nreference executor:\n  {expected:x?}"
        )),
    }
}

/// Checks the constraints of an execution without a proof, and compares.
pub fn check_constraints(program: &Program, counts: &mut Counts) -> Result<(), String> {
    let outcome = reference::run(&program.image, &program.inputs, PUBLIC_VALUES, BOUND);
    let options = options(BOUND);
    let elf = decode_elf(&elf(&program.image)).map_err(|error| error.to_string())?;
    let got = sdk().app_prover(elf).and_then(|prover| {
        let key = sdk().app_pk()?;
        prover.check_constraints(&key, input(program), &options)
    });
    counts.checked += usize::from(got.is_ok());
    difference(
        "constraints",
        &seen(got, |run| run.public_values)?,
        &expected(&outcome),
    )
}

/// Proves a program and compares.
pub fn prove(program: &Program, bound: u64, counts: &mut Counts) -> Result<(), String> {
    let outcome = reference::run(&program.image, &program.inputs, PUBLIC_VALUES, bound);
    let expected = expected(&outcome);
    let options = options(bound);
    let elf = decode_elf(&elf(&program.image)).map_err(|error| error.to_string())?;
    let got = sdk().prove_app(elf.clone(), input(program), &options);
    let got = got.and_then(|(proof, _)| sdk().verify_app(elf, &proof));
    counts.proofs += usize::from(got.is_ok());
    difference(
        "proof",
        &seen(got, |verified| verified.public_values)?,
        &expected,
    )
}
