//! Samples and campaigns of random programs.

use std::{
    env,
    sync::{
        atomic::{AtomicU64, Ordering},
        Mutex,
    },
    thread,
    time::Instant,
};

use crate::{
    compare::{check_constraints, execute, prove, Counts, BOUND},
    generate::{long_program, program, Program, PUBLIC_VALUES},
    reference::{self, End},
};

/// Most instructions of a long program.
const LONG: u64 = 1 << 24;

/// Constructs of a long program.
const LONG_BLOCKS: usize = 2000;

/// Most differences that are written.
const MAX_DIFFERENCES: usize = 20;

fn number(variable: &str, default: u64) -> u64 {
    env::var(variable).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}"))
    })
}

/// The instructions of a program, for a report.
fn listing(program: &Program) -> String {
    let words = program.image.code.iter().enumerate();
    let lines = words.map(|(index, word)| {
        let address = program.image.text + 4 * index as u32;
        format!("  {address:#x}: {word:#010x}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Comparison of one program.
type Compare = fn(&Program, &mut Counts) -> Result<(), String>;

/// Compares the programs of these seeds on all cores. Returns the differences.
fn compare_all(first: u64, programs: u64, compare: Compare) -> (Counts, Vec<String>) {
    let next = AtomicU64::new(first);
    let found = Mutex::new((Counts::default(), vec![]));
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed - first >= programs {
            return;
        }
        let program = program(seed);
        let mut counts = Counts::default();
        let result = compare(&program, &mut counts);
        let mut found = found.lock().expect("no thread panics");
        found.0.add(counts);
        if let Err(difference) = result {
            if found.1.len() < MAX_DIFFERENCES {
                eprintln!("seed {seed}: {difference}\n{}", listing(&program));
            }
            found.1.push(format!("seed {seed}: {difference}"));
        }
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    found.into_inner().expect("no thread panics")
}

/// Random programs end alike in each mode of execution.
#[test]
fn executions_are_those_of_the_reference_executor() {
    let (counts, differences) = compare_all(0, 300, execute);
    assert!(counts.ended > 100, "{counts:?}");
    assert!(counts.ended < 200, "{counts:?}");
    assert_eq!(differences, [""; 0]);
}

/// A proof is accepted, and holds what the reference executor reveals: one of a program with instructions of each kind. Programs
/// that fail do so with the same error as in an execution.
#[test]
fn proofs_are_those_of_the_reference_executor() {
    let mut counts = Counts::default();
    prove(&long_program(1, 600), LONG, &mut counts).unwrap();
    for program in (0..).map(program).filter(fails).take(3) {
        prove(&program, BOUND, &mut counts).unwrap();
    }
    assert_eq!(counts.proofs, 1);
    let (counts, differences) = compare_all(0, 6, check_constraints);
    assert!(counts.checked > 0, "{counts:?}");
    assert_eq!(differences, [""; 0]);
}

/// True for programs that do not end with exit code 0.
fn fails(program: &Program) -> bool {
    let outcome = reference::run(&program.image, &program.inputs, PUBLIC_VALUES, BOUND);
    !matches!(outcome.end, End::Exit { code: 0, .. })
}

#[test]
#[ignore = "a campaign: minutes, and some seconds for each proof"]
fn campaign() {
    let programs = number("OPENVM_METAL_ISA_PROGRAMS", 10_000);
    let checks = number("OPENVM_METAL_ISA_CHECKS", 100);
    let proofs = number("OPENVM_METAL_ISA_PROOFS", 10);
    let first = number("OPENVM_METAL_ISA_SEED", 0);
    let clock = Instant::now();
    let (mut counts, mut differences) = compare_all(first, programs, execute);
    eprintln!("{counts:?} in {:.0?}", clock.elapsed());
    let (checked, different) = compare_all(first, checks, check_constraints);
    counts.add(checked);
    differences.extend(different);
    eprintln!("{counts:?} in {:.0?}", clock.elapsed());
    // A proof says more of a long program than of a short one.
    for seed in first..first + proofs {
        let long = long_program(seed, LONG_BLOCKS);
        if let Err(difference) = prove(&long, LONG, &mut counts) {
            eprintln!("seed {seed}: {difference}\n{}", listing(&long));
            differences.push(format!("seed {seed}: {difference}"));
        }
    }
    eprintln!("{counts:?} in {:.0?}", clock.elapsed());
    assert_eq!(differences, [""; 0]);
}
