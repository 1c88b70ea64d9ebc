//! Wrong programs on the reference backend: each is refused or ends with a typed error.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::validate::validate_launch;
use hologram_backends::{Backend, BackendError};
use hologram_conformance::hostile::{self, attempt, Outcome};
use hologram_conformance::Numbers;

#[test]
fn wrong_programs_do_no_harm() {
    let mut backend = CpuBackend::new();
    let witness = backend.allocate_buffer(64).unwrap();
    let [mut unreadable, mut invalid, mut faults, mut ran] = [0; 4];
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..20_000 {
        match attempt(&mut backend, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}")) {
            Outcome::Unreadable(_) => unreadable += 1,
            Outcome::Invalid(_) => invalid += 1,
            Outcome::Unsupported(_) => {}
            Outcome::Fault(kind) => {
                faults += 1;
                kinds.insert(format!("{kind:?}").split(' ').next().unwrap().to_owned());
            }
            Outcome::Ran => ran += 1,
        }
    }
    let counts = [unreadable, invalid, faults, ran];
    assert!(counts.iter().all(|&count| count > 1_000), "{counts:?}");
    for kind in [
        "StepBudgetExceeded",
        "DivisionByZero",
        "BufferOutOfBounds",
        "InvalidBufferHandle",
    ] {
        assert!(kinds.contains(kind), "{kind} is not among {kinds:?}");
    }
    // The backend works on.
    assert_eq!(backend.buffer_size(witness), Ok(64));
}

#[test]
fn an_attempt_is_repeatable() {
    for seed in 0..300 {
        let [first, second] =
            [0; 2].map(|_| attempt(&mut CpuBackend::new(), seed).map(|o| format!("{o:?}")));
        assert_eq!(first, second, "seed {seed}");
    }
}

#[test]
fn random_programs_are_valid_or_rejected_with_pc_and_text() {
    let mut numbers = Numbers::new(3);
    let (mut valid, mut invalid) = (0, 0);
    for _ in 0..5_000 {
        let program = hostile::program(&mut numbers);
        match validate_launch(&program, &hostile::launch(&mut numbers)) {
            Ok(_) => valid += 1,
            Err(BackendError::Validation(error)) => {
                assert_eq!(
                    error.instruction,
                    program.instructions()[error.pc].to_string()
                );
                invalid += 1;
            }
            Err(other) => panic!("{other}\n{program}"),
        }
    }
    assert!(
        valid > 1_000 && invalid > 1_000,
        "{valid} valid, {invalid} not"
    );
}
