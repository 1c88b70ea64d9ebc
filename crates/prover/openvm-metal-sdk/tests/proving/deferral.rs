//! A guest that defers the verification of a proof: its aggregated proof is accepted with the circuit's hook, and changes of it are noticed.

use std::sync::{Arc, LazyLock};

use openvm_circuit::arch::instructions::{exe::VmExe, DEFERRAL_AS};
use openvm_metal_common::Device;
use openvm_metal_sdk::{
    engine::MetalEngine,
    parameters::{toy_aggregation, toy_root, TOY_AGGREGATION_LOG_HEIGHT},
    verify_app, Cache, DeferralCircuit, DeferralInput, DeferralSettings, Deferrals, DeferredCalls,
    MetalSdk, ProveOptions, Proved, RowOrder, SdkBuilder, SdkError, StdIn, VerificationBaseline,
    VmStarkProof,
};
use openvm_sdk::{config::AggregationSystemParams, prover::DeferralHookCommits};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::codec::Encode;
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2CpuEngine;
use openvm_verify_stark_circuit::prover::{
    DeferredVerifyCpuCircuitProver, DeferredVerifyCpuProver,
};
use p3_baby_bear::BabyBear as F;
use p3_field::PrimeCharacteristicRing;

use crate::{
    guest::{elf, sum, sums},
    riscv::{addi, hint_input, hint_word, i_type, lw, reveal, terminate},
    setup::{self, app_params, input, tree},
};

/// Places in memory of a commitment to an input, of the key of a result, and of the result.
const COMMIT: i32 = 0x100;
const KEY: i32 = 0x200;
const RESULT: i32 = 0x300;

/// Bytes before the public values in a result: the commitments to program and virtual machine.
const COMMITS: usize = 64;

/// Value that the child's guest sums to.
const CHILD: u32 = 20;

/// Calls circuits, each with the next commitment of the input, and reveals the first word of the last result and the first public value in it.
fn defers(circuits: &[usize]) -> Vec<u32> {
    let deferral =
        |circuit: usize, op: i32, rd, rs1| i_type(0x2b, 7, rd, rs1, (circuit as i32) << 2 | op);
    let mut code = Vec::new();
    for &circuit in circuits {
        // Its length, and then its words.
        code.extend([hint_input(), addi(13, 0, COMMIT), hint_word(13)]);
        for _ in 0..8 {
            code.extend([hint_word(13), addi(13, 13, 4)]);
        }
        code.extend([addi(10, 0, KEY), addi(11, 0, COMMIT), addi(12, 0, RESULT)]);
        code.push(deferral(circuit, 0, 10, 11));
        code.push(deferral(circuit, 1, 12, 10));
    }
    code.extend([
        addi(12, 0, RESULT),
        lw(14, 12, 0),
        reveal(14, 0),
        lw(15, 12, COMMITS as i32),
        reveal(15, 4),
        terminate(0),
    ]);
    code
}

fn aggregation() -> AggregationSystemParams {
    toy_aggregation(TOY_AGGREGATION_LOG_HEIGHT)
}

fn settings() -> DeferralSettings {
    DeferralSettings {
        hook: aggregation().internal,
        aggregation: aggregation(),
        order: RowOrder::default(),
        cache: Cache::none(),
    }
}

fn options() -> ProveOptions<'static> {
    ProveOptions::default().with_output(&())
}

/// A machine without deferral circuits.
fn base() -> SdkBuilder<MetalEngine> {
    setup::builder(Device::Cpu).agg_params(aggregation())
}

/// A machine with them.
fn machine(deferrals: &Arc<Deferrals>) -> SdkBuilder<MetalEngine> {
    let config = SdkVmConfig::builder()
        .system(Default::default())
        .rv32i(Default::default())
        .io(Default::default())
        .deferral(deferrals.config())
        .build()
        .optimize();
    MetalSdk::builder(Device::Cpu)
        .min_security_bits(0.0)
        .vm_config(config)
        .app_params(app_params())
        .agg_params(aggregation())
        .agg_tree_config(tree())
        .deferrals(deferrals.clone())
}

/// Circuits that verify proofs of `child`, and calls of each with `proof` as many times as `calls` says.
fn verifiers_of(
    child: &MetalSdk,
    (baseline, proof): (&VerificationBaseline, &VmStarkProof),
    calls: &[usize],
) -> (Arc<Deferrals>, Vec<DeferredCalls>) {
    let params = aggregation().internal;
    let circuits = (0..calls.len()).map(|index| child.verify_stark(Some(params.clone()), index));
    let circuits: Vec<_> = circuits.collect::<Result<_, _>>().expect("circuits");
    let calls = circuits.iter().zip(calls);
    let calls = calls.map(|(circuit, &calls)| {
        let proofs = vec![proof.clone(); calls];
        circuit.calls(baseline, &proofs).expect("a valid proof")
    });
    let calls = calls.collect();
    let circuits = circuits.into_iter().map(Into::into).collect();
    let deferrals = Deferrals::new(&Device::Cpu, circuits, &settings()).expect("they go together");
    (Arc::new(deferrals), calls)
}

/// The guest's input for calls of these circuits.
fn input_of(calls: &[DeferredCalls], circuits: &[usize]) -> StdIn {
    let mut input = StdIn::default();
    for &circuit in circuits {
        input.write_bytes(&calls[circuit].calls[0].input_commit);
    }
    input.deferrals = calls.iter().map(|calls| calls.state.clone()).collect();
    input
}

/// The same without results.
fn input_of_guest_alone(calls: &[DeferredCalls]) -> StdIn {
    let mut input = input_of(calls, &[0]);
    input.deferrals.clear();
    input
}

fn deferred(calls: &[DeferredCalls]) -> Vec<DeferralInput> {
    calls.iter().map(|calls| calls.input.clone()).collect()
}

/// A machine with one circuit, and one call of it.
struct Fixture {
    child: MetalSdk,
    proof: Proved,
    circuits: Arc<Deferrals>,
    sdk: MetalSdk,
    calls: Vec<DeferredCalls>,
}

fn fixture() -> &'static Fixture {
    static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
        let child = base().build().expect("an SDK");
        let proof = child.prove(elf(&sums(CHILD)), input(), &options());
        let proof = proof.expect("a proof");
        let (circuits, calls) = verifiers_of(&child, (&proof.baseline, &proof.proof), &[1]);
        Fixture {
            child,
            proof,
            sdk: machine(&circuits).build().expect("an SDK"),
            circuits,
            calls,
        }
    });
    &FIXTURE
}

/// Words of the result that a guest reveals.
fn check_revealed(proved: &Proved, calls: &DeferredCalls) {
    let output = &calls.calls[0].output;
    assert_eq!(proved.public_values[..4], output[..4]);
    assert_eq!(proved.public_values[4..8], output[COMMITS..COMMITS + 4]);
    assert_eq!(output[COMMITS], sum(CHILD).to_le_bytes()[0]);
}

fn deferral_error(result: Result<Proved, SdkError>) -> String {
    match result.err().expect("it is refused") {
        SdkError::Deferral(reason) => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn a_deferred_verification_is_a_part_of_the_proof() {
    let Fixture { sdk, calls, .. } = fixture();
    let deferred = deferred(calls);
    let prove = |code: &[u32], deferred: &[DeferralInput]| {
        sdk.prove_deferred(elf(code), input_of(calls, &[0]), deferred, &options())
    };
    let guest = defers(&[0]);
    let proved = prove(&guest, &deferred).expect("a proof");
    check_revealed(&proved, &calls[0]);
    let (baseline, proof) = (&proved.baseline, &proved.proof);
    assert_eq!(
        baseline.expected_def_hook_commit,
        sdk.hook_commit().unwrap()
    );
    sdk.verify(baseline, proof).expect("it is valid");

    // Changes are noticed.
    let refused = |baseline: &VerificationBaseline, proof: &VmStarkProof| {
        let error = sdk.verify(baseline, proof).expect_err("it is changed");
        assert!(matches!(error, SdkError::Rejected(_)), "{error}");
    };
    let mut other = baseline.clone();
    other.expected_def_hook_commit = Some([F::ONE; 8]);
    refused(&other, proof);
    other.expected_def_hook_commit = None;
    refused(&other, proof);
    let mut without = proof.clone();
    without.deferral_merkle_proofs = None;
    refused(baseline, &without);
    let levels = baseline.memory_dimensions.overall_height();
    for level in [1, levels - 1] {
        let mut changed = proof.clone();
        let paths = changed.deferral_merkle_proofs.as_mut().expect("paths");
        paths.final_merkle_proof[level][3] += F::ONE;
        refused(baseline, &changed);
    }

    // Inputs are those of the calls.
    let missing = deferral_error(prove(&guest, &[]));
    assert!(missing.contains("no inputs of its calls"), "{missing}");
    let error = deferral_error(prove(&guest, &[deferred[0].clone(), deferred[0].clone()]));
    assert!(error.contains("inputs of 2 circuits"), "{error}");
    let idle = prove(&sums(5), &deferred);
    let idle = deferral_error(idle);
    assert!(idle.contains("called no circuit"), "{idle}");

    // Proofs of segments say nothing about what the circuit computed, whatever it is said to have computed.
    fn unproved<T>(result: Result<T, SdkError>, named: &str) {
        let error = result.err().expect("it says nothing");
        assert!(
            matches!(error, SdkError::DeferredUnproved { what } if what.contains(named)),
            "{error}"
        );
    }
    let inputs = || input_of(calls, &[0]);
    let by_sdk = sdk.prove_app(elf(&guest), inputs(), &options());
    unproved(by_sdk, "configuration");
    let prover = sdk.app_prover(elf(&guest)).expect("a prover");
    unproved(prover.prove(inputs(), &options()), "configuration");
    // The segments of another program: the key is refused whatever they prove.
    let child = &fixture().child;
    let segments = child.prove_app(elf(&sums(5)), input(), &options());
    let (segments, _) = segments.expect("a proof");
    let key = sdk.app_vk().expect("a key");
    unproved(sdk.verify_app(elf(&guest), &segments), "key");
    unproved(verify_app(&key, &segments, None, None, 0.0), "key");
    let own = child.app_vk().expect("a key");
    unproved(
        verify_app(&own, &segments, None, Some(baseline), 0.0),
        "baseline",
    );
    let mut without = baseline.clone();
    without.expected_def_hook_commit = None;
    unproved(
        verify_app(&key, &segments, None, Some(&without), 0.0),
        "key",
    );

    // A guest that calls none has a proof under the same key.
    let proved = sdk.prove(elf(&sums(5)), input(), &options());
    let proved = proved.expect("a proof");
    assert!(proved.proof.deferral_merkle_proofs.is_some());
    sdk.verify(&proved.baseline, &proved.proof)
        .expect("it is valid");
}

/// Bad inputs are refused before the guest runs, by circuit and call.
#[test]
fn inputs_that_a_circuit_does_not_verify() {
    let Fixture {
        sdk, calls, proof, ..
    } = fixture();
    let guest = elf(&defers(&[0]));
    let prove = |input: StdIn, bytes: Vec<u8>| {
        let deferred = DeferralInput {
            byte_vec: vec![bytes],
        };
        deferral_error(sdk.prove_deferred(guest.clone(), input, &[deferred], &options()))
    };
    let refused = |bytes: Vec<u8>| {
        let error = prove(input_of(calls, &[0]), bytes);
        assert!(
            error.starts_with("circuit 0 does not verify the input of call 0: "),
            "{error}"
        );
    };
    refused(vec![1, 2, 3]);
    let changes: [fn(&mut VmStarkProof); 3] = [
        |proof| proof.inner.public_values[1][0] += F::ONE,
        |proof| proof.user_pvs_proof.public_values[0] += F::ONE,
        |proof| proof.user_pvs_proof.proof[2][0] += F::ONE,
    ];
    for change in changes {
        let mut wrong = proof.proof.clone();
        change(&mut wrong);
        refused(wrong.encode_to_vec().expect("an encoding"));
    }
    // Results that the guest gets.
    let mut without = input_of(calls, &[0]);
    without.deferrals = vec![Default::default()];
    for input in [input_of_guest_alone(calls), without] {
        let error = sdk.prove(guest.clone(), input, &options());
        let error = error.err().expect("the guest has no result").to_string();
        assert!(error.contains("the result is not given"), "{error}");
    }
    let error = prove(
        input_of_guest_alone(calls),
        calls[0].input.byte_vec[0].clone(),
    );
    assert!(error.contains("results of 0 circuits"), "{error}");
}

/// Machine and circuits belong together, and single tasks are refused.
#[test]
fn circuits_of_another_machine() {
    let Fixture {
        sdk,
        child,
        calls,
        circuits: machine_circuits,
        ..
    } = fixture();
    let params = aggregation().internal;
    let circuit = |index| child.verify_stark(Some(params.clone()), index).unwrap();
    let make = |circuits: Vec<DeferralCircuit>| Deferrals::new(&Device::Cpu, circuits, &settings());
    for (circuits, text) in [(vec![], "1 to 512"), (vec![circuit(1).into()], "place 0")] {
        let error = make(circuits).err().expect("they do not go together");
        assert!(matches!(error, SdkError::Config(_)), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
    // Programs would see another circuit.
    let mut config = sdk.app_config().app_vm_config.clone();
    config.deferral.as_mut().expect("circuits").circuits[0].commit = [F::TWO; 8].into();
    let error = MetalSdk::builder(Device::Cpu)
        .vm_config(config)
        .deferrals(machine_circuits.clone())
        .build();
    let error = error.err().expect("the machine has another circuit");
    assert!(matches!(error, SdkError::ForeignKey { .. }), "{error}");
    // An executable that was built for another circuit.
    let mut exe = VmExe::clone(&sdk.executable(elf(&sums(5))).expect("an executable"));
    let commit = exe.init_memory.get_mut(&(DEFERRAL_AS, 3));
    *commit.expect("a byte of the commitment") ^= 1;
    let error = sdk.prove_deferred(
        Arc::new(exe),
        input_of(calls, &[0]),
        &deferred(calls),
        &options(),
    );
    let error = error.err().expect("it is of another circuit");
    assert!(matches!(error, SdkError::Executable(_)), "{error}");
    let plan = sdk.plan(elf(&sums(5)), input(), &options());
    let error = plan.expect_err("it cannot be done in tasks");
    assert!(matches!(error, SdkError::Unsupported(_)), "{error}");
    // Nor without the circuits, which Python and the command cannot give.
    let without = MetalSdk::builder(Device::Cpu)
        .vm_config(sdk.app_config().app_vm_config.clone())
        .build();
    let plan = without
        .expect("an SDK")
        .plan(elf(&sums(5)), input(), &options());
    let error = plan.expect_err("no circuit proves what is deferred");
    assert!(matches!(error, SdkError::Unsupported(_)), "{error}");
}

/// Three circuits, of which one is not called and one is called twice: the tree of circuits has a place that stands for none.
#[test]
#[ignore = "minutes on two cores: a campaign by command"]
fn several_circuits_and_calls() {
    let Fixture { child, proof, .. } = fixture();
    let (circuits, calls) = verifiers_of(child, (&proof.baseline, &proof.proof), &[1, 0, 2]);
    let sdk = machine(&circuits).build().expect("an SDK");
    let order = [0, 2, 2];
    let proved = sdk.prove_deferred(
        elf(&defers(&order)),
        input_of(&calls, &order),
        &deferred(&calls),
        &options(),
    );
    let proved = proved.expect("a proof");
    check_revealed(&proved, &calls[2]);
    sdk.verify(&proved.baseline, &proved.proof)
        .expect("it is valid");
    // Of two calls one input is given.
    let mut few = deferred(&calls);
    few[2].byte_vec.pop();
    let input = input_of(&calls, &order);
    let error = sdk.prove_deferred(elf(&defers(&order)), input, &few, &options());
    let error = deferral_error(error);
    assert!(error.contains("not those of the guest's calls"), "{error}");
}

/// A circuit that proves its calls itself; and one that the device proves, whose bytes do not depend on the order of work.
#[test]
#[ignore = "minutes on two cores: a campaign by command"]
fn another_prover_is_accepted_and_bytes_do_not_depend_on_the_order_of_work() {
    let Fixture {
        child, sdk, calls, ..
    } = fixture();
    let keys = child.aggregation_keys().expect("keys");
    let config = child.app_config();
    let system = &config.app_vm_config.system.config;
    let prover = DeferredVerifyCpuProver::new::<BabyBearPoseidon2CpuEngine>(
        keys.verifying_key().clone(),
        keys.internal_recursive_vk_commit().cached_commit.into(),
        aggregation().internal,
        system.memory_config.memory_dimensions(),
        system.num_public_values,
        None,
        0,
    );
    let other = DeferralCircuit::Other {
        name: "verify".into(),
        prover: Box::new(DeferredVerifyCpuCircuitProver::new(prover)),
    };
    let others = Deferrals::new(&Device::Cpu, vec![other], &settings()).expect("a circuit");
    let others = machine(&Arc::new(others)).build().expect("an SDK");
    let guest = || elf(&defers(&[0]));
    let prove = |sdk: &MetalSdk, options: &ProveOptions<'_>| {
        let proved = sdk.prove_deferred(guest(), input_of(calls, &[0]), &deferred(calls), options);
        let proved = proved.expect("a proof");
        sdk.verify(&proved.baseline, &proved.proof)
            .expect("it is valid");
        proved.proof.encode_to_vec().expect("an encoding")
    };
    prove(&others, &options());
    assert!(
        prove(sdk, &options()) == prove(sdk, &options().with_in_flight(1)),
        "the bytes differ"
    );
}

/// Keys for programs that call no circuit have the commitments of OpenVM's SDK, and a circuit above them verifies proofs of its own machine.
#[test]
#[ignore = "minutes on two cores: a campaign by command"]
fn a_machine_verifies_its_own_proofs() {
    let aware = Deferrals::aware(&Device::Cpu, &settings()).expect("keys");
    let stock = DeferralHookCommits::from_system_params(&aggregation(), settings().hook);
    assert_eq!(aware.hook_cached_commit(), stock.hook_cached_commit);
    let aware = base().deferrals(Arc::new(aware)).build().expect("an SDK");
    assert_eq!(aware.hook_commit().unwrap(), Some(stock.hook_commit));

    let first = aware.prove(elf(&sums(CHILD)), input(), &options());
    let first = first.expect("a proof");
    let (circuits, calls) = verifiers_of(&aware, (&first.baseline, &first.proof), &[1]);
    let sdk = machine(&circuits).build().expect("an SDK");
    assert_eq!(sdk.hook_commit().unwrap(), Some(stock.hook_commit));
    let prove = |calls: &[DeferredCalls]| {
        let input = input_of(calls, &[0]);
        let proved = sdk.prove_deferred(elf(&defers(&[0])), input, &deferred(calls), &options());
        let proved = proved.expect("a proof");
        sdk.verify(&proved.baseline, &proved.proof)
            .expect("it is valid");
        proved
    };
    let second = prove(&calls);
    let circuit = aware.verify_stark(Some(aggregation().internal), 0).unwrap();
    let again = circuit.calls(&second.baseline, &[second.proof]).unwrap();
    prove(&[again]);
}

/// Keys that were made before are taken for the same circuits, and root proofs are made with the hook.
#[test]
#[ignore = "minutes on two cores: a campaign by command"]
fn keys_and_root_proofs() {
    let Fixture { child, calls, .. } = fixture();
    let circuit = || -> Vec<DeferralCircuit> {
        let circuit = child.verify_stark(Some(aggregation().internal), 0);
        vec![circuit.unwrap().into()]
    };
    let made = Deferrals::new(&Device::Cpu, circuit(), &settings()).unwrap();
    let keys = made.proving_key().unwrap();
    let made = Arc::new(made);
    let root = |deferrals: &Arc<Deferrals>| {
        let sdk = machine(deferrals).root_params(toy_root(20)).build();
        sdk.expect("an SDK")
    };
    let sdk = root(&made);
    let nodes = sdk.deferral_agg_pk().unwrap().expect("there are circuits");
    let load = |circuits| {
        let (keys, nodes) = (keys.clone(), nodes.clone());
        Deferrals::load(&Device::Cpu, circuits, keys, nodes, &settings())
    };
    let loaded = load(circuit()).expect("the same circuits");
    assert_eq!(loaded.config().circuits, made.config().circuits);
    let two = [0, 1].map(|index| -> DeferralCircuit {
        let circuit = child.verify_stark(Some(aggregation().internal), index);
        circuit.unwrap().into()
    });
    let error = load(Vec::from(two)).err().expect("others");
    assert!(matches!(error, SdkError::ForeignKey { .. }), "{error}");

    let sdk = root(&Arc::new(loaded));
    let input = input_of(calls, &[0]);
    let proved = sdk.prove_deferred(elf(&defers(&[0])), input, &deferred(calls), &options());
    let proved = proved.expect("a proof");
    let root = sdk.prove_root(&proved.baseline, &proved.proof, &options());
    let root = root.expect("a root proof");
    assert_eq!(root.verified.public_values, proved.public_values);
}
