//! The instruction table on the interpreter and on the device in `OPENVM_METAL_DEVICE`, and what is in it.

use std::collections::{BTreeMap, BTreeSet};

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Effort, MetalBackend, LIBRARY};
use hologram_backends::translate::{emit_msl, Options};
use hologram_backends::{Backend, Category, Instruction, Program};
use hologram_conformance::table::{cases, prepare, Case};
use hologram_conformance::Promise;
use openvm_metal_common::{Device, DeviceProfile, MetalContext};

/// Runs the cases; gives the number of results that are right with subnormals flushed only, and the greatest errors.
fn run(backend: &mut dyn Backend, cases: &[Case]) -> (usize, BTreeMap<String, u64>) {
    let (mut wrong, mut flushed, mut greatest) = (Vec::new(), 0, BTreeMap::new());
    for case in cases {
        match case.run(backend) {
            Ok(found) => {
                wrong.extend(found.wrong);
                flushed += found.flushed;
                for (name, places) in found.greatest {
                    let most = greatest.entry(name).or_insert(0);
                    *most = places.max(*most);
                }
            }
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
    assert!(results > 30_000, "{results} results compared");
    (flushed, greatest)
}

fn program(case: &Case) -> Program {
    let program = case.program();
    program.unwrap_or_else(|error| panic!("{}: {error}", case.name()))
}

#[test]
fn the_interpreter_matches_the_table() {
    let (flushed, _) = run(&mut CpuBackend::new(), &cases(Promise::ALL));
    assert_eq!(flushed, 0);
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
    let cases = cases(Promise::of(backend.context().device_profile()));
    prepare(&mut backend, &cases).unwrap();
    run(&mut backend, &cases);
}

/// The processor under the profile of an Apple GPU flushes subnormals, which the table allows there and nowhere else, and its functions err
/// by more than 2 units.
#[test]
fn kernels_as_on_an_apple_gpu_match_the_table() {
    let profile = DeviceProfile::named("m1-8gb").unwrap();
    let context = MetalContext::builder(Device::Cpu).profile(profile);
    let context = context.libraries(&[&LIBRARY]).open().unwrap();
    let scratch = std::env::temp_dir().join("hologram-table-apple-test");
    let mut backend = MetalBackend::on(&context, scratch, Effort::Least).unwrap();
    let cases = cases(Promise::of(context.device_profile()));
    prepare(&mut backend, &cases).unwrap();
    let (flushed, greatest) = run(&mut backend, &cases);
    println!("{flushed} flushed, greatest errors {greatest:?}");
    assert!(flushed > 500, "{flushed} flushed");
    assert!(
        greatest.get("pow.f32").is_some_and(|&most| most > 4),
        "{greatest:?}"
    );
}

/// No instruction is left out but jumps, fences, pools and whole-buffer operations, which have tests of
/// their own.
#[test]
fn every_instruction_is_in_the_table() {
    let programs: Vec<_> = cases(Promise::ALL).iter().map(program).collect();
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
    let without = cases(Promise {
        doubles: false,
        ..Promise::ALL
    });
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
    let (all, some) = (results(&cases(Promise::ALL)), results(&without));
    assert!(some < all && some > all * 3 / 4, "{some} of {all}");
}
