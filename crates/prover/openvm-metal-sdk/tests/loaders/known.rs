//! Files that once ended the process, took all memory, or were accepted although they are damaged.

use std::sync::Arc;

use openvm_metal_sdk::{decode_proof, files};
use openvm_sdk::{
    keygen::{AggProvingKey, AppProvingKey},
    types::{VerificationBaselineJson, VersionedVmStarkProof},
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{codec::Encode as _, keygen::types::MultiStarkProvingKey, proof::Proof};
use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2Config as SC, F};
use p3_field::PrimeCharacteristicRing as _;

use crate::{
    campaign::attempt,
    kinds::KINDS,
    seeds::{seeds, AGG_PK, APP_PK, BASELINE},
};

fn refused(kind: &str, bytes: &[u8]) {
    let kind = KINDS.iter().find(|k| k.name == kind).expect("a kind");
    let outcome = attempt(kind, bytes);
    assert_eq!(outcome.failure, None, "{}", kind.name);
    assert!(!outcome.is_accepted, "{} is accepted", kind.name);
}

/// Numbers of slots and lengths that no file has.
#[test]
fn executables() {
    for count in [1 << 21, 100_000_000u32, u32::MAX] {
        refused("vmexe", &[&[0, 0][..], &count.to_le_bytes()].concat());
    }
    refused("vmexe", &[0xff; 4096]);
    refused(
        "vmexe",
        &[0xff, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f, 0],
    );
    refused("vmexe", b"");
}

/// OpenVM's own conversion takes each of these.
#[test]
fn aggregated_proofs_of_another_form() {
    let good = VersionedVmStarkProof::new(seeds().proof.clone()).expect("encoded");
    let changes: [fn(&mut VersionedVmStarkProof); 5] = [
        |proof| proof.version = "v99.0-evil".into(),
        |proof| proof.version.push('0'),
        |proof| proof.user_pvs_proof.extend([0; 32]),
        |proof| proof.proof.push(0),
        |proof| proof.deferral_merkle_proofs = Some(vec![0; 3]),
    ];
    for change in changes {
        let mut file = good.clone();
        change(&mut file);
        refused("stark.proof", &serde_json::to_vec(&file).expect("JSON"));
    }
}

/// A key with any one bit changed is no key: bits of its contents, of its hash, of lengths.
#[test]
fn keys_with_one_bit_changed() {
    let seeds = seeds();
    let app_vk = files::to_bytes("a key", &seeds.app_vk).expect("encoded");
    let agg_vk = files::to_bytes("a key", &seeds.agg_vk).expect("encoded");
    for part in 0..40 {
        for (kind, good) in [("app.vk", &app_vk), ("agg.vk", &agg_vk)] {
            let mut bad = good.clone();
            bad[part * good.len() / 41] ^= 1 << (part % 8);
            refused(kind, &bad);
        }
    }
}

/// Reading alone refuses a key whose contents have another hash: its reader may prove with it, or verify with another library.
#[test]
fn reading_compares_keys_with_their_hash() {
    let seeds = seeds();
    let mut app_vk = seeds.app_vk.clone();
    app_vk.vk.pre_hash[0] += F::ONE;
    let mut agg_vk = seeds.agg_vk.clone();
    agg_vk.pre_hash[7] += F::ONE;
    let mut stark_vk = seeds.stark_vk.clone();
    stark_vk.mvk = agg_vk.clone();
    let app_pk = |key: &mut AppProvingKey<SdkVmConfig>| {
        let key = Arc::get_mut(&mut key.app_vm_pk).expect("alone");
        Arc::get_mut(&mut key.vm_pk).expect("alone").vk_pre_hash[0] += F::ONE;
    };
    let change = |key: &mut Arc<MultiStarkProvingKey<SC>>| {
        Arc::get_mut(key).expect("alone").vk_pre_hash[0] += F::ONE;
    };
    let agg_pk = |change: &dyn Fn(&mut AggProvingKey)| {
        let mut key = files::agg_pk_from_bytes(AGG_PK).expect("a key");
        change(&mut key);
        key
    };
    let mut changed_app_pk = files::app_pk_from_bytes(APP_PK).expect("a key");
    app_pk(&mut changed_app_pk);
    let leaf = agg_pk(&|key| change(&mut key.prefix.leaf)).prefix;
    let above = agg_pk(&|key| change(&mut key.prefix.internal_for_leaf)).prefix;
    let recursive = agg_pk(&|key| change(&mut key.internal_recursive));
    let errors = [
        files::app_vk_from_bytes(&bytes(&app_vk)).err(),
        files::agg_vk_from_bytes(&bytes(&agg_vk)).err(),
        files::stark_vk_from_bytes(&bytes(&stark_vk)).err(),
        files::app_pk_from_bytes(&bytes(&changed_app_pk)).err(),
        files::agg_prefix_pk_from_bytes(&bytes(&leaf)).err(),
        files::agg_prefix_pk_from_bytes(&bytes(&above)).err(),
        files::agg_pk_from_bytes(&bytes(&recursive)).err(),
        files::internal_recursive_pk_from_bytes(&bytes(&recursive.internal_recursive)).err(),
    ];
    for (index, error) in errors.into_iter().enumerate() {
        let error = error
            .unwrap_or_else(|| panic!("key {index} is accepted"))
            .to_string();
        assert!(
            error.contains("do not match its hash"),
            "key {index}: {error}"
        );
    }
}

fn bytes<T: serde::Serialize>(key: &T) -> Vec<u8> {
    files::to_bytes("a key", key).expect("encoded")
}

/// A baseline may name commitments that the verifier does not expect.
#[test]
fn baselines_of_programs_with_deferral() {
    let mut json: VerificationBaselineJson = serde_json::from_slice(BASELINE).expect("JSON");
    json.expected_def_hook_commit = Some(json.app_exe_commit);
    refused("baseline.json", &serde_json::to_vec(&json).expect("JSON"));
}

/// Lists of nothing take no bytes of a file, whatever their length.
#[test]
fn proofs_with_lists_of_nothing() {
    let good = &seeds().circuit_proof;
    decode_proof(&good.encode_to_vec().expect("encoded")).expect("the proof");
    let changes: [fn(&mut Proof<SC>); 5] = [
        |proof| proof.batch_constraint_proof.sumcheck_round_polys = vec![vec![]; 9],
        |proof| proof.trace_vdata.resize(1 << 17, None),
        |proof| {
            let rows = &mut proof.whir_proof.initial_round_opened_rows;
            rows.iter_mut().flatten().flatten().for_each(Vec::clear);
        },
        |proof| {
            proof.whir_proof.initial_round_opened_rows = vec![vec![]; 1 << 17];
            proof.whir_proof.initial_round_merkle_proofs = vec![vec![]; 1 << 17];
        },
        |proof| {
            let polynomials = &mut proof.whir_proof.whir_sumcheck_polys;
            *polynomials = polynomials.repeat(20);
        },
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut proof = good.clone();
        change(&mut proof);
        let bytes = proof.encode_to_vec().expect("encoded");
        let error = decode_proof(&bytes).expect_err("no proof has such lists");
        assert!(error.to_string().contains("lengths"), "{index}: {error}");
    }
    // The decoder alone would make 2^28 lists of this.
    let mut proof = good.clone();
    proof.batch_constraint_proof.sumcheck_round_polys = vec![vec![]; 0x1234];
    let mut bytes = proof.encode_to_vec().expect("encoded");
    let lengths = [0x34, 0x12, 0, 0, 0, 0, 0, 0];
    let at = bytes.windows(8).position(|window| window == lengths);
    bytes[at.expect("the lengths") + 3] = 0x10;
    refused("circuit.proof", &bytes);
}
