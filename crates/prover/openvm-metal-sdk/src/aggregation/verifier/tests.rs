//! The traces beside those of OpenVM's library, cell for cell.

use std::sync::Arc;

use openvm_cpu_backend::CpuBackend;
use openvm_recursion_circuit::system::{
    AggregationSubCircuit, CachedTraceCtx, VerifierConfig, VerifierExternalData,
    VerifierSubCircuit, VerifierTraceGen,
};
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey,
    proof::Proof,
    prover::{AirProvingContext, DeviceDataTransporter, ProvingContext},
    test_utils::{
        test_system_params_small, FibFixture, InteractionsFixture11, MixtureFixture,
        PreprocessedAndCachedFixture, TestFixture,
    },
    AirRef, StarkEngine,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::default_duplex_sponge_recorder;
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::{super::rows, External, Verifier};
use crate::{
    engine::CpuEngine,
    poseidon2::{State, WIDTH},
    prelude::{F, SC},
};

/// Most proofs that a circuit of the tests verifies.
const MOST: usize = 3;

type Circuit = VerifierSubCircuit<MOST>;
type Key = MultiStarkVerifyingKey<SC>;

/// Random states, some of them twice.
fn states(rng: &mut StdRng, n: usize) -> Vec<State> {
    let state = |rng: &mut StdRng| -> State {
        std::array::from_fn(|_| F::from_u32(rng.random_range(0..F::ORDER_U32)))
    };
    let mut states: Vec<State> = (0..n).map(|_| state(rng)).collect();
    states.push([F::ZERO; WIDTH]);
    states.extend(states.clone().iter().step_by(3));
    states
}

/// Compares all traces of the circuit that verifies these proofs; gives them back.
fn compare(
    circuit: &Circuit,
    key: &Key,
    proofs: &[Proof<SC>],
    seed: u64,
) -> Vec<AirProvingContext<CpuBackend<SC>>> {
    let mut rng = StdRng::seed_from_u64(seed);
    let (permuted, compressed) = (states(&mut rng, 5), states(&mut rng, 9));
    let ranges: Vec<usize> = (0..7).map(|_| rng.random_range(0..256)).collect();
    let powers: Vec<usize> = (0..3).map(|_| rng.random_range(0..32)).collect();
    let engine = CpuEngine::new(test_system_params_small(2, 14, 3));
    let cached = VerifierTraceGen::<CpuBackend<SC>, SC, ()>::commit_child_vk(circuit, &engine, key);

    let mut theirs = VerifierTraceGen::<CpuBackend<SC>, SC, ()>::generate_proving_ctxs(
        circuit,
        key,
        CachedTraceCtx::PcsData(cached),
        proofs,
        &mut VerifierExternalData {
            poseidon2_compress_inputs: &compressed,
            poseidon2_permute_inputs: &permuted,
            range_check_inputs: &ranges,
            power_check_inputs: &powers,
            required_heights: None,
            final_transcript_state: None,
        },
        &(),
        default_duplex_sponge_recorder(),
    )
    .unwrap();
    let external = External {
        permuted: &permuted,
        compressed: &compressed,
        ranges: &ranges,
        powers: &powers,
    };
    let verifier = Verifier::new(key, circuit.bus_inventory(), MOST);
    let mut ours = verifier.traces(key, proofs, &external);

    let airs: Vec<AirRef<SC>> = circuit.airs();
    assert_eq!((ours.len(), theirs.len()), (airs.len(), airs.len()));
    for ((air, ours), theirs) in airs.iter().zip(&mut ours).zip(&mut theirs) {
        let name = air.name();
        // Threads decide the order of some rows.
        rows::sort(&name, &mut ours.common_main);
        rows::sort(&name, &mut theirs.common_main);
        // A layer adds the cached traces of AIRs that have such columns.
        let cached = air.cached_main_widths().len();
        assert_eq!(
            (ours.cached_mains.len(), theirs.cached_mains.len()),
            (0, cached),
            "{name}"
        );
        assert_eq!(ours.public_values, theirs.public_values, "{name}");
        assert_eq!(ours.common_main.width, theirs.common_main.width, "{name}");
        let differs = ours
            .common_main
            .values
            .iter()
            .zip(&theirs.common_main.values);
        assert_eq!(
            differs.clone().position(|(ours, theirs)| ours != theirs),
            None,
            "{name}: first cell that differs"
        );
        assert_eq!(
            ours.common_main.values.len(),
            theirs.common_main.values.len(),
            "{name}"
        );
    }
    ours
}

fn circuit(key: &Key) -> Circuit {
    let config = VerifierConfig {
        continuations_enabled: true,
        ..VerifierConfig::default()
    };
    Circuit::new_with_options(Arc::new(key.clone()), config)
}

/// One to three proofs of a small circuit with the shape `(l_skip, n_stack, k_whir)`.
fn small(fixture: impl TestFixture<SC>, (l_skip, n_stack, k): (usize, usize, usize)) {
    let engine = CpuEngine::new(test_system_params_small(l_skip, n_stack, k));
    let (key, proof) = fixture.keygen_and_prove(&engine);
    let circuit = circuit(&key);
    for count in 1..=MOST {
        compare(&circuit, &key, &vec![proof.clone(); count], count as u64);
    }
}

#[test]
fn small_circuits_have_the_library_s_traces() {
    small(FibFixture::new(0, 1, 1 << 5), (2, 8, 3));
    small(FibFixture::new(1, 7, 1), (3, 5, 3));
    let some_missing = FibFixture::new_with_num_airs(0, 1, 1 << 8, 5);
    small(some_missing.with_empty_air_indices(vec![1, 3]), (3, 5, 4));
    small(InteractionsFixture11, (5, 5, 4));
    let config = |k| SC::default_from_params(test_system_params_small(3, 7, k));
    let cached = PreprocessedAndCachedFixture::new(vec![true; 1 << 4], config(2), 3);
    small(cached, (3, 7, 2));
    small(MixtureFixture::standard(5, config(1)), (3, 7, 1));
}

#[test]
fn different_proofs_stay_apart() {
    let engine = CpuEngine::new(test_system_params_small(2, 8, 3));
    let fixtures = [(0, 1), (3, 4), (5, 9)].map(|(a, b)| FibFixture::new(a, b, 1 << 4));
    let (proving, key) = fixtures[0].keygen(&engine);
    let proofs = fixtures.map(|fixture| fixture.prove(&engine, &proving));
    compare(&circuit(&key), &key, &proofs, 7);
}

/// A node above nodes: the key is that of a verifier circuit, with its cached trace and all of its AIRs.
#[test]
fn a_verifier_of_verifiers_has_the_library_s_traces() {
    let engine = CpuEngine::new(test_system_params_small(2, 8, 3));
    let (key, proof) = FibFixture::new(0, 1, 1 << 5).keygen_and_prove(&engine);
    let below = Circuit::new_with_options(Arc::new(key.clone()), VerifierConfig::default());
    let mut params = test_system_params_small(4, 12, 4);
    params.max_constraint_degree = 4;
    let engine = CpuEngine::new(params);
    let cached = VerifierTraceGen::<CpuBackend<SC>, SC, ()>::commit_child_vk(&below, &engine, &key);
    let traces = VerifierTraceGen::<CpuBackend<SC>, SC, ()>::generate_proving_ctxs_base(
        &below,
        &key,
        CachedTraceCtx::PcsData(cached),
        &[proof],
        &(),
        default_duplex_sponge_recorder(),
    );
    let (proving, key) = engine.keygen(&below.airs::<SC>());
    let proving = engine.device().transport_pk_to_device(&proving);
    let ctx = ProvingContext::new(traces.into_iter().enumerate().collect());
    let proof = engine.prove(&proving, ctx).unwrap();
    engine.verify(&key, &proof).unwrap();
    compare(&circuit(&key), &key, &[proof.clone(), proof], 11);
}
