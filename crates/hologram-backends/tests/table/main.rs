//! Every instruction on every type at edge values, against results computed apart from the backends:
//! integers in 128 bits, floats in integers, functions from tables.

mod atlas;
mod case;
mod convert;
mod floats;
mod function_values;
mod functions;
mod integers;
mod memory;
mod softfloat;

use std::collections::BTreeSet;

use case::Case;
use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::MetalBackend;
use hologram_backends::{Backend, Category, Instruction};
use openvm_metal_common::Device;

fn cases() -> Vec<Case> {
    [
        integers::cases(),
        floats::cases(),
        convert::cases(),
        functions::cases(),
        atlas::cases(),
        memory::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn run(backend: &mut dyn Backend, cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        case.run(backend, &mut wrong);
    }
    let shown: Vec<_> = wrong.iter().take(20).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        shown.join("\n")
    );
    let results: usize = cases.iter().map(Case::results).sum();
    assert!(results > 50_000, "{results} results compared");
}

#[test]
fn the_interpreter_matches_the_table() {
    run(&mut CpuBackend::new(), &cases());
}

/// The device in `OPENVM_METAL_DEVICE`, else the CPU; kernels of all cases are compiled together.
#[test]
fn translated_kernels_match_the_table() {
    let device = match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(name) => name.parse().unwrap(),
        Err(_) => Device::Cpu,
    };
    let scratch = std::env::temp_dir().join("hologram-table-test");
    let mut backend = MetalBackend::with_scratch(device, scratch).unwrap();
    let cases = cases();
    let programs: Vec<_> = cases.iter().map(Case::program).collect();
    let params: Vec<_> = cases
        .iter()
        .map(|case| {
            let (handles, params) = case.prepare(&mut backend);
            for handle in handles {
                backend.free_buffer(handle).unwrap();
            }
            params
        })
        .collect();
    let wanted: Vec<_> = programs.iter().zip(&params).collect();
    backend.prepare(&wanted).unwrap();
    run(&mut backend, &cases);
}

/// No instruction is left out but jumps, fences, pools and whole-buffer operations, which have tests of
/// their own.
#[test]
fn every_instruction_is_in_the_table() {
    let programs: Vec<_> = cases().iter().map(Case::program).collect();
    let used: BTreeSet<&str> = programs
        .iter()
        .flat_map(|p| p.instructions())
        .map(Instruction::mnemonic)
        .collect();
    let elsewhere = ["bra", "call", "ret", "loop", "exit", "mem_fence"];
    for &(opcode, mnemonic) in Instruction::ALL {
        let other = mnemonic.starts_with("pool_") || opcode >= 128;
        assert!(
            used.contains(mnemonic) || other || elsewhere.contains(&mnemonic),
            "{mnemonic}"
        );
    }
    let intrinsic = programs.iter().flat_map(|p| p.instructions());
    assert!(intrinsic
        .into_iter()
        .all(|i| i.category() != Category::Intrinsic));
}
