//! What a proof asks of the device, phase by phase, as a contract.
//!
//! Dispatches and waits do not depend on the hardware, and each costs a GPU microseconds: a change of
//! these numbers is a change of speed that no CPU run shows. The commit that changes one must say why.
//! The failing test prints the table to put in its place.

mod common;

use common::{keccak::keccakf, mixture, params::SMALL, prove_counted, Input};
use openvm_metal_backend::engine::BabyBearPoseidon2MetalEngine;
use openvm_metal_common::{Device, StreamCounters};
use openvm_stark_backend::{StarkEngine, SystemParams};
use openvm_stark_sdk::config::app_params_with_100_bits_security;

/// Elements that the host may work on at one time: the largest size gate of `MetalProverConfig`, for
/// the two tables of a sumcheck with the two weights of each element.
const LARGEST_HOST_WORK: u64 = 4 << 8;

const PHASES: [(&str, &str); 9] = [
    ("commit", "stacked_commit"),
    (
        "gkr leaves",
        "prover.rap_constraints/prover.rap_constraints.logup_gkr.input_evals",
    ),
    (
        "gkr",
        "prover.rap_constraints/prover.rap_constraints.logup_gkr",
    ),
    (
        "constraints, round 0",
        "prover.rap_constraints/prover.rap_constraints.round0",
    ),
    (
        "constraints, MLE rounds",
        "prover.rap_constraints/prover.rap_constraints.mle_rounds",
    ),
    ("constraints, all", "prover.rap_constraints"),
    (
        "stacked reduction",
        "prover.openings/prover.openings.stacked_reduction",
    ),
    ("WHIR", "prover.openings/prover.openings.whir"),
    ("proof", ""),
];

/// A line for each phase: dispatches, waits.
fn table(counters: &StreamCounters) -> String {
    let mut table = String::new();
    for (name, path) in PHASES {
        let sum = counters.inclusive(path);
        table += &format!("{name:24}{:6}{:6}\n", sum.dispatches, sum.waits);
    }
    table
}

/// Proves twice on the CPU device and compares the counts of both proofs with the contract.
fn check(
    params: SystemParams,
    input: impl Fn(&BabyBearPoseidon2MetalEngine) -> Input,
    contract: &str,
) {
    let engine = BabyBearPoseidon2MetalEngine::try_new(params, Device::Cpu).expect("CPU");
    let input = input(&engine);
    let (pk, vk) = engine.keygen(&input.airs);
    for _ in 0..2 {
        let (proof, counters) = prove_counted(&engine, &pk, &input.ctx);
        engine.verify(&vk, &proof).expect("a valid proof");
        for stage in &counters.stages {
            assert!(
                stage.host_fallbacks.is_empty(),
                "{}: {:?}",
                stage.stage,
                stage.host_fallbacks
            );
            for (what, work) in &stage.host_work {
                assert!(
                    work.largest <= LARGEST_HOST_WORK || *what == "grind_pow",
                    "{}: {what}: {work:?}",
                    stage.stage
                );
            }
        }
        let actual = table(&counters);
        assert!(actual == contract, "now:\n{actual}\ncontract:\n{contract}");
    }
}

#[test]
fn keccakf_of_two_permutations() {
    check(
        app_params_with_100_bits_security(15),
        |_| keccakf(2),
        "\
commit                       7     1
gkr leaves                   0     0
gkr                          0     0
constraints, round 0         3     1
constraints, MLE rounds      8     3
constraints, all            13     5
stacked reduction            3     2
WHIR                        25    15
proof                       48    23
",
    );
}

#[test]
fn a_mixture_of_airs() {
    check(
        SMALL[1].params(),
        |engine| mixture(8, engine.config()),
        "\
commit                       7     1
gkr leaves                   4     0
gkr                         30    22
constraints, round 0         4     1
constraints, MLE rounds     15     5
constraints, all            54    28
stacked reduction           13     3
WHIR                        36    22
proof                      110    54
",
    );
}
