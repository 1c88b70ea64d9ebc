//! The instruction table on the interpreter and on the device in `OPENVM_METAL_DEVICE`, and what is in it.

use std::collections::BTreeSet;

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::MetalBackend;
use hologram_backends::translate::{emit_msl, Options};
use hologram_backends::{Backend, Category, Instruction, Program};
use hologram_conformance::table::{cases, prepare, Case};
use openvm_metal_common::{Device, DeviceKind};

fn run(backend: &mut dyn Backend, cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        match case.run(backend) {
            Ok(found) => wrong.extend(found),
            Err(error) => wrong.push(format!("{}: {error}", case.name())),
        }
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

fn program(case: &Case) -> Program {
    let program = case.program();
    program.unwrap_or_else(|error| panic!("{}: {error}", case.name()))
}

#[test]
fn the_interpreter_matches_the_table() {
    run(&mut CpuBackend::new(), &cases(true));
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
    let cases = cases(backend.context().info().kind != DeviceKind::Metal);
    prepare(&mut backend, &cases).unwrap();
    run(&mut backend, &cases);
}

/// No instruction is left out but jumps, fences, pools and whole-buffer operations, which have tests of
/// their own.
#[test]
fn every_instruction_is_in_the_table() {
    let programs: Vec<_> = cases(true).iter().map(program).collect();
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

/// A Mac runs all of its table: nothing in it has doubles, and little is missing from it.
#[test]
fn without_doubles_every_case_is_translated_for_apple() {
    let without = cases(false);
    for case in &without {
        let options = Options {
            apple: true,
            initial: case.initial(),
            ..Options::default()
        };
        let program = program(case);
        if let Err(error) = emit_msl(&program, &options) {
            panic!("{}: {error}", case.name());
        }
        assert!(!program.to_string().contains("f64"), "{}", case.name());
    }
    let results = |cases: &[Case]| cases.iter().map(Case::results).sum::<usize>();
    let (all, some) = (results(&cases(true)), results(&without));
    assert!(some < all && some > all * 3 / 4, "{some} of {all}");
}
