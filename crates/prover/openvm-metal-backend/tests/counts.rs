//! Requests of a proof to the device, phase by phase, as a contract.
//!
//! Dispatches and waits depend on the device's profile and on nothing else, and each costs a GPU microseconds: a
//! change of these numbers is a change of speed that no CPU run shows. So they are pinned for the processor and for
//! GPUs, small and large. The commit that changes one must say why. The failing test prints the table to put in
//! its place.

mod common;

use common::{
    bytes,
    keccak::keccakf,
    mixture, on_profile,
    params::SMALL,
    profile, prove, prove_counted,
    random_input::{random_input, Limits},
    HostContext, Input, SC,
};
use openvm_metal_backend::{
    BabyBearPoseidon2MetalEngine, ConstraintKernels, DuplexSpongeMetal, MetalProverConfig,
};
use openvm_metal_common::{Device, StreamCounters};
use openvm_stark_backend::{StarkEngine, SystemParams};
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security,
    baby_bear_poseidon2::{BabyBearPoseidon2RefEngine, F},
};
use p3_air::BaseAir;

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

/// Profiles whose devices are asked for different things: a processor, a small GPU and a large one.
const PROFILES: [&str; 3] = ["cpu", "m1-8gb", "h100-80gb"];

/// A line for each phase: dispatches and waits under each of [`PROFILES`].
fn table(all: &[StreamCounters]) -> String {
    let mut table = String::new();
    for (name, path) in PHASES {
        table += &format!("{name:24}");
        for counters in all {
            let sum = counters.inclusive(path);
            table += &format!("{:8}{:5}", sum.dispatches, sum.waits);
        }
        table += "\n";
    }
    table
}

/// Proves under each profile, twice under the first, and compares the counts with the contract. The proofs are
/// the same.
fn check(
    params: SystemParams,
    input: impl Fn(&SC) -> Input,
    max_kept_codewords: Option<u64>,
    contract: &str,
) {
    let input = input(&SC::default_from_params(params.clone()));
    let mut config = MetalProverConfig::default();
    config.max_kept_codewords = max_kept_codewords;
    // Whatever kernels somebody has in a folder.
    config.constraint_kernels = ConstraintKernels::Interpreted;
    let mut expected: Option<Vec<u8>> = None;
    let mut all = Vec::new();
    for (i, name) in PROFILES.into_iter().enumerate() {
        let engine = on_profile(params.clone(), Device::Cpu, profile(name), None)
            .with_prover_config(config.clone());
        let (pk, vk) = engine.keygen(&input.airs);
        let mut prove = || {
            let (proof, counters) = prove_counted(&engine, &pk, &input.ctx);
            let expected = expected.get_or_insert_with(|| {
                engine.verify(&vk, &proof).expect("a valid proof");
                bytes(&proof)
            });
            assert!(bytes(&proof) == *expected, "{name}: another proof");
            host_work_is_small(&counters);
            counters
        };
        let counters = prove();
        if i == 0 {
            let again = prove();
            assert_eq!(table(&[again]), table(std::slice::from_ref(&counters)));
        }
        all.push(counters);
    }
    let actual = table(&all);
    assert!(actual == contract, "now:\n{actual}\ncontract:\n{contract}");
}

fn host_work_is_small(counters: &StreamCounters) {
    for stage in &counters.stages {
        let name = &stage.stage;
        let fallbacks = &stage.host_fallbacks;
        assert!(fallbacks.is_empty(), "{name}: {fallbacks:?}");
        for (what, work) in &stage.host_work {
            assert!(
                work.largest <= LARGEST_HOST_WORK || *what == "grind_pow",
                "{name}: {what}: {work:?}"
            );
        }
    }
}

#[test]
fn keccakf_of_two_permutations() {
    check(
        app_params_with_100_bits_security(15),
        |_| keccakf(2),
        None,
        "\
commit                         7    1      17    1       9    1
gkr leaves                     0    0       0    0       0    0
gkr                            0    0       0    0       0    0
constraints, round 0           4    1       4    1       4    1
constraints, MLE rounds       10    3      12    1      12    1
constraints, all              15    5      17    3      17    3
stacked reduction              4    2      30    2      30    2
WHIR                          25   12      27   12      27   12
proof                         51   20      91   18      83   18
",
    );
}

/// A large GPU encodes 2^17 rows in two passes, of which the first reads the cells of the tall trace.
#[test]
fn a_stacked_height_with_tall_tiles() {
    check(
        app_params_with_100_bits_security(17),
        |_| keccakf(64),
        None,
        "\
commit                        23    1      33    1      18    1
gkr leaves                     0    0       0    0       0    0
gkr                            0    0       0    0       0    0
constraints, round 0           4    1       4    1       5    1
constraints, MLE rounds       25    8      35    1      35    1
constraints, all              30   10      40    3      41    3
stacked reduction              8    3      34    2      34    2
WHIR                          29   13      30   13      31   13
proof                         90   27     137   19     124   19
",
    );
}

/// GPUs that drop codewords once they are hashed transform the columns again for the queries.
#[test]
fn codewords_that_are_dropped() {
    check(
        app_params_with_100_bits_security(15),
        |_| keccakf(2),
        Some(0),
        "\
commit                         7    1      17    1       9    1
gkr leaves                     0    0       0    0       0    0
gkr                            0    0       0    0       0    0
constraints, round 0           4    1       4    1       4    1
constraints, MLE rounds       10    3      12    1      12    1
constraints, all              15    5      17    3      17    3
stacked reduction              4    2      30    2      30    2
WHIR                          41   12      43   12      43   12
proof                         67   20     107   18      99   18
",
    );
}

#[test]
fn a_mixture_of_airs() {
    check(
        SMALL[1].params(),
        |config| mixture(8, config),
        None,
        "\
commit                         7    1      12    1       9    1
gkr leaves                     4    0       4    0       4    0
gkr                           32   22      44    2      44    2
constraints, round 0           5    1       5    1       5    1
constraints, MLE rounds       17    5      21    1      21    1
constraints, all              58   28      74    4      74    4
stacked reduction             10    3      30    2      30    2
WHIR                          37   11      42   11      42   11
proof                        112   43     158   18     155   18
",
    );
}

/// At least 300 small AIRs, as in a virtual machine of hundreds of chips; the same every time. With
/// `committed`, more than a hundred of their traces are preprocessed or cached.
fn hundreds_of_airs(config: &SC, committed: bool) -> Input {
    let limits = Limits {
        max_airs: 3,
        max_log_height: 4,
        max_width: 3,
        degree: 3,
        buses: 2,
    };
    let (mut airs, mut traces) = (Vec::new(), Vec::new());
    for seed in 0.. {
        let input = random_input(seed, config, limits);
        let has_committed = input
            .airs
            .iter()
            .any(|air| BaseAir::<F>::preprocessed_trace(air.as_ref()).is_some())
            || input
                .ctx
                .per_trace
                .iter()
                .any(|(_, trace)| !trace.cached_mains.is_empty());
        if has_committed && !committed {
            continue;
        }
        airs.extend(input.airs);
        traces.extend(input.ctx.per_trace.into_iter().map(|(_, trace)| trace));
        if airs.len() >= 300 {
            break;
        }
    }
    Input {
        airs,
        ctx: HostContext::new(traces.into_iter().enumerate().collect()),
    }
}

/// Proves hundreds of AIRs, compares with the reference and with the contract.
fn check_hundreds(committed: bool, contract: &str) {
    let params = SMALL[0].params();
    let engine = BabyBearPoseidon2MetalEngine::try_new(params.clone(), Device::Cpu).expect("CPU");
    let input = hundreds_of_airs(engine.config(), committed);
    let reference = BabyBearPoseidon2RefEngine::<DuplexSpongeMetal>::new(params.clone());
    let (pk, _) = engine.keygen(&input.airs);
    let expected = prove(&reference, &pk, &input.ctx).expect("reference");
    let actual = prove(&engine, &pk, &input.ctx).expect("proof");
    assert!(bytes(&actual) == bytes(&expected), "the reference's proof");
    check(
        params,
        |config| hundreds_of_airs(config, committed),
        None,
        contract,
    );
}

#[test]
fn dispatches_do_not_grow_with_the_number_of_airs() {
    check_hundreds(
        false,
        "\
commit                        24    1      33    1      33    1
gkr leaves                    40    0      40    0      40    0
gkr                           54   11      65    2      65    2
constraints, round 0           5    1       5    1       5    1
constraints, MLE rounds       84    3      86    1      86    1
constraints, all             183   15     196    4     196    4
stacked reduction              8    4      30    2      30    2
WHIR                          26   10      30   10      30   10
proof                        241   30     289   17     289   17
",
    );
}

/// In the reduction eight commitments share a dispatch each time their columns are read. In WHIR each takes three of its own
/// (its range is batched, its leaves and paths gathered), but no wait.
#[test]
fn a_hundred_committed_traces() {
    check_hundreds(
        true,
        "\
commit                        24    1      30    1      30    1
gkr leaves                    60    0      60    0      60    0
gkr                           78   11      89    2      89    2
constraints, round 0           5    1       5    1       5    1
constraints, MLE rounds      131    3     133    1     133    1
constraints, all             274   15     287    4     287    4
stacked reduction             56    4      78    2      78    2
WHIR                         593   10     597   10     597   10
proof                        947   30     992   17     992   17
",
    );
}
