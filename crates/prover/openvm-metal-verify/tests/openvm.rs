//! The statement of a proof against OpenVM's own verifier of statements: both accept and refuse the same.

use std::{fs, panic::AssertUnwindSafe, path::Path};

use openvm_circuit::system::memory::{
    dimensions::MemoryDimensions, merkle::public_values::UserPublicValuesProof,
};
use openvm_metal_verify::{
    catch_panic, check_statement, Baseline, CircuitCommit, DeferralPaths, StarkProof, VerifyingKey,
};
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, p3_field::PrimeCharacteristicRing,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::{
    poseidon2_compress_with_capacity, BabyBearPoseidon2Config as SC, Digest, F,
};
use openvm_verify_stark_host::{
    deferral::DeferralMerkleProofs,
    pvs::VkCommit,
    verify_vm_stark_proof_pvs,
    vk::{VerificationBaseline, VmStarkVerifyingKey},
    VmStarkProof,
};

fn compress(left: Digest, right: Digest) -> Digest {
    poseidon2_compress_with_capacity(left, right).0
}

fn digest(number: u32) -> Digest {
    std::array::from_fn(|i| F::from_u32(number * 8 + i as u32))
}

/// A real proof with its key, and their baseline.
fn real() -> (StarkProof, MultiStarkVerifyingKey<SC>, Baseline) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openvm-metal-cli/tests/data");
    let read = |name: &str| fs::read(data.join(name)).expect("a file of the tests");
    let proof = StarkProof::from_json(&read("fibonacci.stark.proof")).expect("a proof");
    let key = VerifyingKey::from_bytes(&read("fibonacci.stark.vk")).expect("a key");
    (proof, key.key, key.baseline.expect("a baseline"))
}

fn openvms_proof(proof: &StarkProof) -> VmStarkProof {
    let proof = proof.clone();
    let values = proof.user_pvs_proof;
    VmStarkProof {
        inner: proof.inner,
        user_pvs_proof: UserPublicValuesProof {
            proof: values.proof,
            public_values: values.public_values,
            public_values_commit: values.public_values_commit,
        },
        deferral_merkle_proofs: proof
            .deferral_merkle_proofs
            .map(|paths| DeferralMerkleProofs {
                initial_merkle_proof: paths.initial_merkle_proof,
                final_merkle_proof: paths.final_merkle_proof,
            }),
    }
}

fn openvms_baseline(baseline: &Baseline) -> VerificationBaseline {
    let circuit = |commit: CircuitCommit| VkCommit {
        cached_commit: commit.cached_commit,
        vk_pre_hash: commit.vk_pre_hash,
    };
    VerificationBaseline {
        app_exe_commit: baseline.app_exe_commit,
        memory_dimensions: MemoryDimensions {
            addr_space_height: baseline.memory_dimensions.addr_space_height,
            address_height: baseline.memory_dimensions.address_height,
        },
        num_user_pvs: baseline.num_user_pvs,
        app_vk_commit: circuit(baseline.app_vk_commit),
        leaf_vk_commit: circuit(baseline.leaf_vk_commit),
        internal_for_leaf_vk_commit: circuit(baseline.internal_for_leaf_vk_commit),
        internal_recursive_vk_commit: circuit(baseline.internal_recursive_vk_commit),
        expected_def_hook_commit: baseline.expected_def_hook_commit,
    }
}

/// OpenVM's verifier and a baseline of ours.
struct Both {
    key: MultiStarkVerifyingKey<SC>,
    baseline: Baseline,
}

impl Both {
    /// True if both verifiers of statements accept; `name` is of the change. A panic of OpenVM's is a refusal.
    fn accept(&self, proof: &StarkProof, baseline: &Baseline, name: &str) -> bool {
        let ours = check_statement(proof, baseline);
        let vk = VmStarkVerifyingKey {
            mvk: self.key.clone(),
            baseline: openvms_baseline(baseline),
        };
        let theirs = openvms_proof(proof);
        let theirs = catch_panic(AssertUnwindSafe(|| {
            verify_vm_stark_proof_pvs(&vk, &theirs).map_err(|error| error.to_string())
        }))
        .unwrap_or_else(Err);
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{name}: {ours:?}, {theirs:?}");
        ours.is_ok()
    }
}

/// Changes each element that a statement depends on, and compares the two verifiers. Returns how many changes they accept.
fn compare_changes(proof: &StarkProof, both: &Both) -> usize {
    let baseline = &both.baseline;
    assert!(both.accept(proof, baseline, "unchanged"));
    let mut kept = 0;
    let mut try_proof = |name: String, change: &dyn Fn(&mut StarkProof)| {
        let mut other = proof.clone();
        change(&mut other);
        kept += usize::from(both.accept(&other, baseline, &name));
    };
    for air in 0..3 {
        for place in 0..proof.inner.public_values[air].len() {
            for value in [F::ZERO, F::ONE, F::TWO, F::from_u32(256), F::from_u32(257)] {
                if proof.inner.public_values[air][place] != value {
                    try_proof(format!("value {place} of AIR {air}"), &|proof| {
                        proof.inner.public_values[air][place] = value
                    });
                }
            }
        }
    }
    for place in 0..proof.user_pvs_proof.proof.len() {
        try_proof(format!("sibling {place}"), &|proof| {
            proof.user_pvs_proof.proof[place][place % 8] += F::ONE
        });
    }
    for place in 0..proof.user_pvs_proof.public_values.len() {
        try_proof(format!("public value {place}"), &|proof| {
            proof.user_pvs_proof.public_values[place] += F::ONE
        });
    }
    if let Some(paths) = &proof.deferral_merkle_proofs {
        for place in 0..paths.initial_merkle_proof.len() {
            for (initial, r#final) in [(true, true), (true, false), (false, true)] {
                try_proof(format!("sibling {place} of deferrals"), &|proof| {
                    let paths = proof.deferral_merkle_proofs.as_mut().expect("paths");
                    paths.initial_merkle_proof[place][0] += F::from_bool(initial);
                    paths.final_merkle_proof[place][0] += F::from_bool(r#final);
                });
            }
        }
        try_proof("no paths".into(), &|proof| {
            proof.deferral_merkle_proofs = None
        });
        try_proof("a short path".into(), &|proof| {
            let paths = proof.deferral_merkle_proofs.as_mut().expect("paths");
            paths.final_merkle_proof.pop();
        });
    }
    try_proof("a path more".into(), &|proof| {
        proof.user_pvs_proof.proof.push(digest(1))
    });
    try_proof("half of the public values".into(), &|proof| {
        proof.user_pvs_proof.public_values.truncate(16)
    });
    try_proof("no constraints".into(), &|proof| {
        proof.inner.trace_vdata[3] = None
    });
    try_proof("other constraints".into(), &|proof| {
        let trace = proof.inner.trace_vdata[3].as_mut().expect("a trace");
        trace.cached_commitments[0][7] += F::ONE;
    });
    let changes: [fn(&mut Baseline); 14] = [
        |b| b.app_exe_commit[0] += F::ONE,
        |b| b.memory_dimensions.address_height += 1,
        |b| b.memory_dimensions.addr_space_height -= 1,
        |b| b.num_user_pvs = 16,
        |b| b.num_user_pvs = 0,
        |b| b.app_vk_commit.cached_commit[1] += F::ONE,
        |b| b.app_vk_commit.vk_pre_hash[2] += F::ONE,
        |b| b.leaf_vk_commit.cached_commit[3] += F::ONE,
        |b| b.leaf_vk_commit.vk_pre_hash[4] += F::ONE,
        |b| b.internal_for_leaf_vk_commit.cached_commit[5] += F::ONE,
        |b| b.internal_for_leaf_vk_commit.vk_pre_hash[6] += F::ONE,
        |b| b.internal_recursive_vk_commit.cached_commit[7] += F::ONE,
        |b| b.internal_recursive_vk_commit.vk_pre_hash[0] += F::ONE,
        |b| {
            b.expected_def_hook_commit = match b.expected_def_hook_commit {
                Some(_) => None,
                None => Some(Digest::default()),
            }
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut other = baseline.clone();
        change(&mut other);
        kept += usize::from(both.accept(proof, &other, &format!("baseline {number}")));
    }
    kept
}

/// Catches a change of a statement that `openvm-metal-verify` takes and OpenVM's own verifier refuses, or the other way.
#[test]
fn statements_are_compared_as_openvm_does() {
    let (proof, key, baseline) = real();
    // Another possible depth, and five addresses at which the execution ended, which is not compared.
    assert_eq!(compare_changes(&proof, &Both { key, baseline }), 6);
}

/// The same for a first layer of the last circuit, which names no circuit of its own.
#[test]
fn statements_of_one_layer_are_compared_as_openvm_does() {
    let (mut proof, key, mut baseline) = real();
    let values = &mut proof.inner.public_values[0];
    values[49] = F::ONE;
    values[50..66].fill(F::ZERO);
    baseline.internal_for_leaf_vk_commit.cached_commit = digest(3);
    values[33..41].copy_from_slice(&digest(3));
    let trace = proof.inner.trace_vdata[3].as_mut().expect("a trace");
    trace.cached_commitments[0] = digest(3);
    // Five addresses at which the execution ended, and the circuit that it does not name, twice.
    assert_eq!(compare_changes(&proof, &Both { key, baseline }), 7);
}

/// The same for a virtual machine with deferred computations, with none of them used, with a tree of them, and with one that
/// is as high as it may be. There is no such proof at hand: the public values are made up and their memory is made to fit.
#[test]
fn statements_of_deferrals_are_compared_as_openvm_does() {
    for (flag, depth) in [(0, 0), (2, 0), (2, 3), (2, 26)] {
        let (mut proof, key, mut baseline) = real();
        let height = baseline.memory_dimensions.address_height;
        let hook = digest(5);
        baseline.expected_def_hook_commit = Some(hook);
        let (hook, initial, r#final) = match flag {
            0 => (Digest::default(), Digest::default(), Digest::default()),
            _ => (hook, digest(6), digest(7)),
        };
        let values = &mut proof.inner.public_values;
        values[0].push(F::from_u32(flag));
        values[0].extend(hook);
        values[2] = initial.into_iter().chain(r#final).collect();
        values[2].extend([F::from_usize(depth), F::ZERO]);

        // The two address spaces are neighbours: each is the other's last sibling but the upper levels'.
        let siblings: Vec<Digest> = (0..height as u32).map(|i| digest(100 + i)).collect();
        let deferrals = |accumulator: Digest| match depth {
            0 => siblings[1..].iter().fold(
                compress(siblings[0], compress(accumulator, Digest::default())),
                |node, sibling| compress(node, *sibling),
            ),
            _ => siblings[depth..]
                .iter()
                .fold(accumulator, |node, sibling| compress(node, *sibling)),
        };
        let values_height = 2;
        let path = &mut proof.user_pvs_proof.proof;
        let public = path[..height - values_height].iter().fold(
            proof.user_pvs_proof.public_values_commit,
            |node, sibling| compress(node, *sibling),
        );
        path[height - values_height] = deferrals(r#final);
        let upper = [
            path[height - values_height + 1],
            path[height - values_height + 2],
        ];
        let root =
            |deferrals: Digest| compress(compress(upper[0], compress(public, deferrals)), upper[1]);
        let paths: Vec<Digest> = siblings
            .iter()
            .copied()
            .chain([public])
            .chain(upper)
            .collect();
        let (before, after) = (root(deferrals(initial)), root(deferrals(r#final)));
        proof.deferral_merkle_proofs = Some(DeferralPaths {
            initial_merkle_proof: paths.clone(),
            final_merkle_proof: paths,
        });
        let values = &mut proof.inner.public_values[1];
        values[12..20].copy_from_slice(&before);
        values[20..28].copy_from_slice(&after);
        let leaf = |values: Digest| compress(values, Digest::default());
        let program: Digest = values[..8].try_into().expect("a digest");
        let mut entry = Digest::default();
        entry[0] = values[8];
        baseline.app_exe_commit = compress(compress(leaf(program), leaf(before)), leaf(entry));
        let kept = compare_changes(&proof, &Both { key, baseline });
        // Siblings below the tree are not a part of a path.
        assert_eq!(kept, 6 + depth, "{flag}, {depth}");
    }
}
