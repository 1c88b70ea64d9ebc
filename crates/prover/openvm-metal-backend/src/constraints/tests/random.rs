//! The phase on random sets of AIRs, those of the tests of the whole prover.

#[path = "../../../tests/common/expr.rs"]
mod expr;
#[path = "../../../tests/common/random_air.rs"]
mod random_air;
#[path = "../../../tests/common/random_input.rs"]
mod random_input;

use random_input::{random_input, Limits};

use openvm_metal_common::DeviceProfile;
use openvm_stark_backend::{
    keygen::types::{StarkProvingKey, StarkVerifyingKey},
    prover::{CpuColMajorBackend, ProvingContext},
    StarkProtocolConfig,
};

use super::*;
use crate::{constraints::EvalField, programs::AirPrograms};

type HostContext<S = SC> = ProvingContext<CpuColMajorBackend<S>>;

/// AIRs and traces of one proof, on the host.
struct Input<S: StarkProtocolConfig = SC> {
    airs: Vec<AirRef<S>>,
    ctx: HostContext<S>,
}

fn input(seed: u64, params: &SystemParams, limits: Limits) -> Input {
    let config = BabyBearPoseidon2Config::default_from_params(params.clone());
    random_input(seed, &config, limits)
}

#[test]
fn random_inputs() {
    // The device's transcript takes degrees up to 7.
    for (l_skip, degree) in [(1, 4), (2, 3), (3, 2), (4, 3), (5, 1), (2, 7), (1, 8)] {
        let mut params = test_system_params_small(l_skip, 11 - l_skip, 3);
        params.max_constraint_degree = degree;
        for seed in 0..10 {
            let limits = Limits {
                max_airs: 7,
                max_log_height: if seed % 5 == 4 { 10 } else { 6 },
                max_width: 6,
                degree,
                buses: 5,
            };
            let Input { airs, ctx } = input(100 * l_skip as u64 + seed, &params, limits);
            compare(params.clone(), airs, ctx);
        }
    }
}

/// Keys of the AIRs of random inputs.
pub fn random_keys(count: usize) -> Vec<StarkVerifyingKey<F, Digest>> {
    let params = test_system_params_small(2, 9, 3);
    let limits = Limits {
        max_airs: 7,
        max_log_height: 3,
        max_width: 9,
        degree: 3,
        buses: 5,
    };
    let engine = Engine::new(params.clone());
    let mut keys = Vec::new();
    for seed in 0.. {
        let (pk, _) = engine.keygen(&input(seed, &params, limits).airs);
        keys.extend(pk.per_air.into_iter().map(|air| air.vk));
        if keys.len() >= count {
            break;
        }
    }
    keys
}

/// Kernels of rules in place of the interpreter, wherever there are points enough for a thread.
#[test]
fn random_inputs_with_generated_kernels() {
    let shapes = [(0, 4, 3, 8), (1, 2, 3, 10), (2, 3, 2, 5), (3, 1, 4, 6)];
    // Compilers take most of the time: a sample has fewer kernels.
    let (cases, max_airs) = if campaign() { (4, 7) } else { (1, 4) };
    for (seed, l_skip, degree, max_log_height) in shapes.into_iter().take(cases) {
        let mut params = test_system_params_small(l_skip, 11 - l_skip, 3);
        params.max_constraint_degree = degree;
        let limits = Limits {
            max_airs,
            max_log_height,
            max_width: 6,
            degree,
            buses: 5,
        };
        let Input { airs, ctx } = input(seed, &params, limits);
        compare_on(&stream(), &generated(), params, airs, ctx);
    }
}

#[test]
fn random_inputs_in_conformance_mode() {
    let s = stream_on(Device::cpu_conformance());
    for (l_skip, degree) in [(2, 3), (4, 3)] {
        let params = test_system_params_small(l_skip, 9 - l_skip, 3);
        for seed in 0..3 {
            let limits = Limits {
                max_airs: 4,
                max_log_height: 6,
                max_width: 4,
                degree,
                buses: 3,
            };
            let Input { airs, ctx } = input(seed, &params, limits);
            let config = MetalProverConfig::default();
            compare_on(&s, &config, params.clone(), airs, ctx);
        }
    }
}

/// The plan of a GPU on the CPU device: several points of a thread, and kernels that are taken where they are found.
#[test]
fn found_kernels_under_the_profile_of_a_gpu() {
    let on = |profile: &str| {
        let context = MetalContext::builder(Device::Cpu)
            .libraries(&[&kernels::LIBRARY])
            .profile(DeviceProfile::named(profile).expect("a profile"))
            .open();
        context.expect("the CPU").stream()
    };
    let gpu = on("h100-80gb");
    let folder = scratch(&format!("rules-found-{}", std::process::id()));
    let config = |constraint_kernels| MetalProverConfig {
        constraint_kernels,
        kernel_folder: Some(folder.clone()),
        ..Default::default()
    };
    let params = test_system_params_small(1, 10, 3);
    let limits = Limits {
        max_airs: 1,
        max_log_height: 8,
        max_width: 6,
        degree: 3,
        buses: 5,
    };
    let again = || input(0, &params, limits);
    let (pk, _) = Engine::new(params.clone()).keygen(&again().airs);
    let programs = |air: &StarkProvingKey<SC>| AirPrograms::new("test", &air.vk).unwrap();
    let programs: Vec<AirPrograms> = pk.per_air.iter().map(programs).collect();
    let with_rules = |air: &AirPrograms| air.rules().map(|rules| !rules.is_empty()).collect();
    let all: Vec<Vec<bool>> = programs.iter().map(with_rules).collect();
    assert!(all.concat().contains(&true));
    let found = |s: &CommandStream| -> Vec<Vec<bool>> {
        let config = config(ConstraintKernels::Auto);
        let kernels = generated::start(s.context(), &config, &programs).unwrap();
        let ready = |k: &generated::SumKernels| {
            let over = EvalField::ALL.map(|field| k.over(field)?.ready(true));
            over.iter().all(Option::is_some)
        };
        let of_air = |air: &Vec<generated::SumKernels>| air.iter().map(ready).collect();
        kernels.iter().map(of_air).collect()
    };
    let none: Vec<Vec<bool>> = all.iter().map(|air| vec![false; air.len()]).collect();
    assert_eq!(found(&gpu), none, "no folder");
    let prove = |mode| {
        let Input { airs, ctx } = again();
        compare_on(&gpu, &config(mode), params.clone(), airs, ctx);
    };
    prove(ConstraintKernels::Generated);
    // What is kept needs neither the compiler nor what it left.
    std::fs::remove_dir_all(folder.join("scratch")).expect("the compiler's");
    assert_eq!(found(&gpu), all, "prepared");
    assert!(!folder.join("scratch").exists());
    prove(ConstraintKernels::Auto);
    // That proof waits for none. Who asks for them does, so that nobody writes to the folder when it is removed.
    assert_eq!(found(&gpu), all, "prepared, and used");
    // A profile that does not ask for them.
    assert_eq!(found(&on("m1-8gb")), none);
    std::fs::remove_dir_all(&folder).expect("ours");
}
