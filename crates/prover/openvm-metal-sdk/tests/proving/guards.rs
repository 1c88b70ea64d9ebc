//! Checks of what other processes made: each of these tests fails when the check that it is about is taken out.

use std::sync::Arc;

use openvm_metal_common::Device;
use openvm_metal_sdk::{
    engine::MetalEngine,
    tasks::{Plan, Span, TaskVerifier},
    verify, verify_app, MetalSdk, ProveOptions, Sdk, SdkError, Stage, MIN_SECURITY_BITS,
};
use openvm_sdk::{
    keygen::{AppProvingKey, AppVerifyingKey},
    prover::vm::types::VmProvingKey,
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{keygen::types::MultiStarkVerifyingKey, proof::Proof};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config as SC;
use openvm_verify_stark_host::vk::VerificationBaseline;
use p3_baby_bear::BabyBear as F;
use p3_field::PrimeCharacteristicRing;

use crate::{
    faulty::{Faulty, COMMITS_TO_OTHERS},
    guest::{elf, sums},
    setup::{app_params, builder, builder_with_keys, input, sdk},
};

type Key = MultiStarkVerifyingKey<SC>;

/// Rounds of a program of one segment.
const N: u32 = 20;

fn plan() -> Arc<Plan> {
    let plan = sdk().plan(elf(&sums(N)), input(), &ProveOptions::default());
    let plan = plan.expect("a plan");
    assert_eq!(plan.segments().len(), 1);
    Arc::new(plan)
}

fn verifier() -> TaskVerifier<MetalEngine> {
    sdk().task_verifier(elf(&sums(N))).expect("a verifier")
}

/// The proof of the only segment by an SDK.
fn segment(sdk: &MetalSdk) -> Proof<SC> {
    let options = ProveOptions::default().with_in_flight(1);
    let (mut app, _) = sdk
        .prove_app(elf(&sums(N)), input(), &options)
        .expect("a proof");
    app.per_segment.remove(0)
}

/// The nodes above a proof, one of each level.
fn nodes(sdk: &MetalSdk, plan: &Plan, segment: Proof<SC>) -> Vec<Proof<SC>> {
    let mut made = vec![segment];
    for level in 1..plan.levels().len() {
        let below = &made[level - 1..];
        made.push(sdk.prove_node(plan, level, 0, below).expect("a node"));
    }
    made.split_off(1)
}

/// A plan with something else in its JSON.
fn changed(plan: &Plan, change: impl FnOnce(&mut serde_json::Value)) -> Plan {
    let mut json = serde_json::from_str(&plan.to_json()).expect("JSON");
    change(&mut json);
    Plan::from_json(&json.to_string()).expect("a plan")
}

#[track_caller]
fn refused<T>(result: Result<T, SdkError>, reason: &str) {
    match result.err() {
        Some(error @ SdkError::WrongProof { .. }) => {
            assert!(error.to_string().contains(reason), "{error}");
        }
        Some(other) => panic!("{other}"),
        None => panic!("accepted, although {reason}"),
    }
}

#[track_caller]
fn is_no_task<T>(result: Result<T, SdkError>, reason: &str) {
    match result.err() {
        Some(SdkError::Plan(text)) => assert!(text.contains(reason), "{text}"),
        Some(other) => panic!("{other}"),
        None => panic!("accepted, although {reason}"),
    }
}

/// Public values are those in the memory at the end and those of the plan.
#[test]
fn public_values_are_those_of_the_plan() {
    let (plan, verifier) = (plan(), verifier());
    let worker = sdk().segment_worker(elf(&sums(N)), input(), plan.clone());
    let worker = worker.expect("a worker");
    let options = ProveOptions::default();
    let proof = worker.prove(0, &options).expect("a proof");
    let last = verifier.segment(&plan, 0, &proof).expect("the segment");
    let values = worker.end().expect("the public values");
    verifier.end(&plan, &last, &values).expect("the end");

    let other = changed(&plan, |json| {
        let byte = &mut json["public_values"][3];
        *byte = (byte.as_u64().expect("a byte") ^ 1).into();
    });
    let reason = "not what the plan's execution revealed";
    refused(verifier.end(&other, &last, &values), reason);
    let fewer = changed(&plan, |json| {
        let bytes = json["public_values"].as_array_mut().expect("bytes");
        bytes.pop();
    });
    refused(verifier.end(&fewer, &last, &values), reason);

    let mut short = values.clone();
    short.public_values.pop();
    refused(verifier.end(&plan, &last, &short), "values, expected are");
    let mut wrong = values.clone();
    wrong.public_values[3] += F::ONE;
    refused(verifier.end(&plan, &last, &wrong), "the public values");
}

/// A node has as many children as the plan says, and they join.
#[test]
fn children_of_a_node_are_those_of_the_plan() {
    let (plan, verifier) = (plan(), verifier());
    let proof = segment(sdk());
    let span = verifier.segment(&plan, 0, &proof).expect("the segment");
    let node = |plan: &Plan, spans: &[Span]| verifier.node(plan, (1, 0), spans, &proof);
    is_no_task(node(&plan, &[]), "1 children, not 0");
    is_no_task(node(&plan, &[span, span]), "1 children, not 2");
    is_no_task(verifier.node(&plan, (0, 0), &[], &proof), "it has no");
    is_no_task(verifier.node(&plan, (9, 0), &[], &proof), "it has no");
    is_no_task(verifier.segment(&plan, 1, &proof), "it has no segment 1");

    // The same segment twice.
    let two = changed(&plan, |json| {
        let segments = json["segments"].as_array_mut().expect("segments");
        let mut second = segments[0].clone();
        second["instret_start"] = second["num_insns"].clone();
        segments.push(second);
    });
    is_no_task(node(&two, &[span, span]), "do not join");
    // It ends the program: it is not the first of two.
    refused(verifier.segment(&two, 0, &proof), "ends at its end");
    assert!(!span.joins(&span));
}

/// Plans that no execution has.
#[test]
fn plans_are_of_segments_in_a_row() {
    let plan = plan();
    let bad = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut json = serde_json::from_str(&plan.to_json()).expect("JSON");
        change(&mut json);
        let error = Plan::from_json(&json.to_string()).expect_err("no plan");
        assert!(matches!(error, SdkError::Plan(_)), "{error}");
        error.to_string()
    };
    let text = bad(&|json| json["segments"] = serde_json::json!([]));
    assert!(text.contains("no segments"), "{text}");
    let row = "does not begin where the one before ends";
    let text = bad(&|json| json["segments"][0]["instret_start"] = 1.into());
    assert!(text.contains(row), "{text}");
    let text = bad(&|json| json["segments"][0]["num_insns"] = 0.into());
    assert!(text.contains(row), "{text}");
    for (children, number) in [("leaf_children", 0), ("internal_children", 1)] {
        let text = bad(&|json| json[children] = number.into());
        assert!(text.contains("an internal node of"), "{text}");
    }
    let text = bad(&|json| {
        json["segments"][0]["num_insns"] = u64::MAX.into();
        let mut second = json["segments"][0].clone();
        second["instret_start"] = u64::MAX.into();
        json["segments"]
            .as_array_mut()
            .expect("a list")
            .push(second);
    });
    assert!(text.contains("2^64"), "{text}");
}

/// The keys of the upper layers are the same for all applications: that a node is above another application's proofs is told by its public
/// values alone. The last node is assembled only with the public values of its execution.
#[test]
fn nodes_above_other_keys_are_refused() {
    let (plan, verifier) = (plan(), verifier());
    let proof = segment(sdk());
    let span = verifier.segment(&plan, 0, &proof).expect("the segment");
    // The same machine and program; only the work for LogUp is more.
    let mut params = app_params();
    params.logup.pow_bits += 1;
    let other = builder::<MetalEngine>(Device::Cpu).app_params(params);
    let other = other.build().expect("the settings go together");
    let vk = |sdk: &MetalSdk| sdk.agg_vk().expect("a key").pre_hash;
    assert!(vk(sdk()) == vk(&other), "one key for all applications");

    let foreign = nodes(&other, &plan, segment(&other));
    for (level, node) in (1..).zip(&foreign) {
        let error = verifier.node(&plan, (level, 0), &[span], node);
        let error = error.expect_err("a node above another application");
        assert!(matches!(error, SdkError::WrongProof { .. }), "{error}");
    }
    let last = foreign.len();
    let error = verifier.node(&plan, (last, 0), &[span], &foreign[last - 1]);
    refused(error, "made with other keys");

    let own = nodes(sdk(), &plan, proof);
    for (level, node) in (1..).zip(&own) {
        let found = verifier.node(&plan, (level, 0), &[span], node);
        assert_eq!(found.expect("the node"), span);
    }
    // The right public values, but no proof of them.
    let mut damaged = own[0].clone();
    damaged.stacking_proof.stacking_openings[0].swap(0, 1);
    refused(verifier.node(&plan, (1, 0), &[span], &damaged), "node 0");
    let worker = sdk().segment_worker(elf(&sums(N)), input(), plan.clone());
    let values = worker.expect("a worker").end().expect("public values");
    let top = || own[last - 1].clone();
    let proof = verifier.assemble(top(), values.clone()).expect("a proof");
    keys_are_compared(verifier.verifying_key(), &|vk, baseline, min| {
        let baseline = baseline.unwrap_or(verifier.baseline());
        verify(vk, baseline, &proof, min).map(drop)
    });
    let mut wrong = values.clone();
    wrong.public_values[0] += F::ONE;
    for (top, values) in [(top(), wrong), (foreign[last - 1].clone(), values)] {
        let error = verifier.assemble(top, values).expect_err("another proof");
        assert!(matches!(error, SdkError::Rejected(_)), "{error}");
    }
}

/// Verifies with a key, a baseline other than the key's own, and so many bits of security at least.
type Verify<'a> = &'a dyn Fn(&Key, Option<&VerificationBaseline>, f64) -> Result<(), SdkError>;

/// A key without security, one whose contents are others than its hash says, and one that the baseline does not name.
fn keys_are_compared(vk: &Key, verify: Verify<'_>) {
    verify(vk, None, 0.0).expect("a proof");
    let error = verify(vk, None, MIN_SECURITY_BITS).expect_err("toy parameters");
    assert!(matches!(error, SdkError::Insecure { .. }), "{error}");
    let refused = |vk: &Key, baseline: Option<&VerificationBaseline>, reason: &str| {
        let error = verify(vk, baseline, 0.0).expect_err(reason);
        assert!(matches!(error, SdkError::Key { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    };
    let mut changed = vk.clone();
    changed.inner.params.logup.pow_bits += 1;
    refused(&changed, None, "do not match its hash");
    let mut other = sdk().baseline(elf(&sums(N))).expect("a baseline");
    other.internal_recursive_vk_commit.vk_pre_hash[0] += F::ONE;
    other.app_vk_commit.vk_pre_hash[0] += F::ONE;
    refused(vk, Some(&other), "not the key that the baseline names");
}

/// Application proofs under keys of strangers, and of another program than is expected.
#[test]
fn keys_of_application_proofs_are_compared() {
    let options = ProveOptions::default().with_in_flight(1);
    let app = sdk().prove_app(elf(&sums(N)), input(), &options);
    let (proof, _) = app.expect("a proof");
    let own = sdk().app_vk().expect("a key");
    let baseline = sdk().baseline(elf(&sums(N))).expect("a baseline");
    let verify = |vk: &AppVerifyingKey, baseline: &VerificationBaseline, min: f64| {
        verify_app(vk, &proof, None, Some(baseline), min).map(drop)
    };
    keys_are_compared(&own.vk, &|vk, other, min| {
        let mut key = own.clone();
        key.vk = vk.clone();
        verify(&key, other.unwrap_or(&baseline), min)
    });
    let mut key = own.clone();
    key.num_user_pvs += 8;
    let error = verify(&key, &baseline, 0.0).expect_err("another memory");
    assert!(matches!(error, SdkError::Key { .. }), "{error}");
    let mut other = baseline.clone();
    other.app_exe_commit[0] += F::ONE;
    let error = verify(&own, &other, 0.0).expect_err("another program");
    assert!(matches!(error, SdkError::AppRejected(_)), "{error}");
    let expected = Some(other.app_exe_commit);
    let error = verify_app(&own, &proof, expected, None, 0.0).expect_err("another program");
    assert!(matches!(error, SdkError::AppRejected(_)), "{error}");
}

/// A proving key that was given, whose verifying part is another than its hash says, verifies nothing.
#[test]
fn contents_of_a_given_key_are_compared() {
    let options = ProveOptions::default().with_in_flight(1);
    let app = sdk().prove_app(elf(&sums(N)), input(), &options);
    let (proof, _) = app.expect("a proof");
    let own = sdk().app_pk().expect("a key");
    let verify = |key: AppProvingKey<SdkVmConfig>| {
        let builder = MetalSdk::builder(Device::Cpu).min_security_bits(0.0);
        let given = builder.app_pk(key).segment_max_memory(1).build();
        let given = given.expect("the settings go together");
        given.verify_app(elf(&sums(N)), &proof)
    };
    verify(own.as_ref().clone()).expect("the key of the proof");
    let VmProvingKey { vm_config, vm_pk } = &*own.app_vm_pk;
    let (vm_config, mut vm_pk) = (vm_config.clone(), vm_pk.clone());
    Arc::make_mut(&mut vm_pk).vk_pre_hash[0] += F::ONE;
    let app_vm_pk = Arc::new(VmProvingKey { vm_config, vm_pk });
    let error = verify(AppProvingKey { app_vm_pk }).expect_err("another hash");
    assert!(matches!(error, SdkError::Key { .. }), "{error}");
}

/// Devices that commit to the same program or key with other roots prove nothing together.
#[test]
fn devices_that_disagree_are_named() {
    let devices = [("good", usize::MAX), (COMMITS_TO_OTHERS, usize::MAX)];
    let sdk: Sdk<Faulty> = builder_with_keys(devices[0])
        .devices(devices.to_vec())
        .generic_build()
        .expect("the settings go together");
    let disagree = |error: Option<SdkError>, expected: Stage| match error {
        Some(SdkError::Disagreement { stage, device }) => {
            assert_eq!(stage, expected);
            assert_eq!(device, COMMITS_TO_OTHERS);
        }
        other => panic!("{expected}: {other:?}"),
    };
    let options = ProveOptions::default();
    // Metering commits to nothing, so nobody disagrees.
    let exe = sdk.executable(elf(&sums(N))).expect("an executable");
    let metered = sdk.generic_execute_metered(&exe, input(), &options);
    assert_eq!(metered.expect("no commitment").segments.len(), 1);
    let app = sdk.generic_prove_app(exe, input(), &options);
    disagree(app.err(), Stage::CommitProgram);
    let node = sdk.generic_prove_node(&plan(), 1, 0, &[segment(self::sdk())]);
    disagree(node.err(), Stage::AggregationKeygen);
}
