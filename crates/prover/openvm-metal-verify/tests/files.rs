//! A real proof with OpenVM's default parameters, and every way to change its files.

use std::{fs, path::Path};

use openvm_metal_verify::{
    bytes, check_statement, verify_files, Baseline, Commitment, ComparedWith, StarkProof, Trust,
    VerifyError, VerifyingKey, MIN_SECURITY_BITS,
};
use openvm_stark_backend::p3_field::PrimeCharacteristicRing;
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use serde_json::{json, Value};

const REVEALED: &str = "0x4b60c05cc74d590b";

/// The files of the command's tests.
struct Files {
    proof: Vec<u8>,
    key: Vec<u8>,
    baseline: Vec<u8>,
    commit: Vec<u8>,
    toy_proof: Vec<u8>,
    toy_key: Vec<u8>,
}

fn files() -> Files {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openvm-metal-cli/tests/data");
    let read = |name: &str| fs::read(data.join(name)).expect("a file of the tests");
    Files {
        proof: read("fibonacci.stark.proof"),
        key: read("fibonacci.stark.vk"),
        baseline: read("fibonacci.baseline.json"),
        commit: read("fibonacci.commit.json"),
        toy_proof: read("toy.stark.proof"),
        toy_key: read("toy.stark.vk"),
    }
}

impl Files {
    /// The key as `openvm-metal setup` writes it, without a baseline.
    fn bare_key(&self) -> Vec<u8> {
        let key = VerifyingKey::from_bytes(&self.key).expect("a key");
        bitcode::serialize(&key.key).expect("serialized")
    }

    fn refused(&self, proof: &[u8], key: &[u8], trust: Trust<'_>, message: &str) {
        let error = verify_files(proof, key, trust, MIN_SECURITY_BITS).expect_err("refused");
        let said = error.to_string();
        assert!(said.contains(message), "{message} is not in {said}");
    }
}

fn changed(json: &[u8], place: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(json).expect("JSON");
    change(value.pointer_mut(place).expect("a part of the file"));
    value.to_string().into_bytes()
}

/// Another hash of the right form.
fn other_hash(value: &mut Value) {
    let text = value.as_str().expect("a hash");
    let last = if text.ends_with('0') { '1' } else { '0' };
    *value = format!("{}{last}", &text[..text.len() - 1]).into();
}

/// A proof with a baseline, with commitments, with a trusted key, and without any. Catches a statement that is not the proof's.
#[test]
fn a_proof_says_what_it_proves() {
    let files = files();
    let commit: Value = serde_json::from_slice(&files.commit).expect("JSON");
    let bare = files.bare_key();
    for (key, trust, compared_with, is_of_all) in [
        (
            &files.key,
            Trust::Expected(&files.baseline),
            ComparedWith::Baseline,
            true,
        ),
        (
            &bare,
            Trust::Expected(&files.baseline),
            ComparedWith::Baseline,
            true,
        ),
        (
            &files.key,
            Trust::Expected(&files.commit),
            ComparedWith::Commitments,
            true,
        ),
        (&files.key, Trust::Key, ComparedWith::Nothing, false),
    ] {
        let verified =
            verify_files(&files.proof, key, trust, MIN_SECURITY_BITS).expect("a valid proof");
        let json = serde_json::to_value(&verified).expect("JSON");
        assert_eq!(json["app_exe_commit"], commit["app_exe_commit"]);
        assert_eq!(json["app_vm_commit"], commit["app_vm_commit"]);
        assert!(json["public_values"]
            .as_str()
            .expect("a text")
            .starts_with(REVEALED));
        assert_eq!(verified.public_values.len(), 32);
        assert_eq!(verified.exit_code, 0);
        assert_eq!(verified.security_bits.floor(), 100.0);
        assert_eq!(verified.is_of_all_circuits, is_of_all);
        assert_eq!(verified.compared_with, compared_with);
        assert!(verified.seconds.expect("a clock") > 0.0);
    }
    files.refused(
        &files.proof,
        &files.key,
        Trust::Nothing,
        "give --commit FILE",
    );
    for trust in [Trust::Nothing, Trust::Key, Trust::Expected(&files.commit)] {
        files.refused(&files.proof, &bare, trust, "a key without a baseline");
    }
}

/// Catches a part of a caller's file that is not compared.
#[test]
fn files_of_something_else_are_refused() {
    let files = files();
    let mut places = vec![("/app_exe_commit".to_owned(), "its program is")];
    for circuit in ["app", "leaf", "internal_for_leaf", "internal_recursive"] {
        for (part, message) in [
            ("cached_commit", "circuit is"),
            ("vk_pre_hash", "circuit is"),
        ] {
            let message = match (circuit, part) {
                ("internal_recursive", "vk_pre_hash") => "not the key that the baseline names",
                _ => message,
            };
            places.push((format!("/{circuit}_vk_commit/{part}"), message));
        }
    }
    for (place, message) in places {
        let other = changed(&files.baseline, &place, other_hash);
        files.refused(&files.proof, &files.key, Trust::Expected(&other), message);
    }
    for (place, number, message) in [
        ("/num_user_pvs", 64, "baseline names 64"),
        (
            "/memory_dimensions/address_height",
            25,
            "not those of the memory",
        ),
        (
            "/memory_dimensions/addr_space_height",
            2,
            "not those of the memory",
        ),
        (
            "/memory_dimensions/address_height",
            31,
            "no virtual machine has",
        ),
        ("/security_bits", 5, "5.0 bits of security"),
    ] {
        let other = changed(&files.baseline, place, |value| *value = number.into());
        files.refused(&files.proof, &files.key, Trust::Expected(&other), message);
    }
    let deferring = changed(&files.baseline, "/expected_def_hook_commit", |value| {
        *value = Commitment::from([F::ONE; 8]).to_string().into();
    });
    let message = "it lacks public values";
    files.refused(
        &files.proof,
        &files.key,
        Trust::Expected(&deferring),
        message,
    );
    for (place, message) in [
        ("/app_exe_commit", "the program is"),
        ("/app_vm_commit", "the virtual machine is"),
    ] {
        let other = changed(&files.commit, place, other_hash);
        files.refused(&files.proof, &files.key, Trust::Expected(&other), message);
    }
    let weak = changed(&files.commit, "/security_bits", |bits| *bits = json!(5.2));
    files.refused(
        &files.proof,
        &files.key,
        Trust::Expected(&weak),
        "5.2 bits of security",
    );
    for bad in [
        &b""[..],
        b"{}",
        b"[]",
        &files.proof,
        &vec![b' '; (1 << 20) + 1],
    ] {
        files.refused(
            &files.proof,
            &files.key,
            Trust::Expected(bad),
            "pair of commitments",
        );
    }
}

/// Catches bytes of a proof that nobody compares: digits all over the file are changed, and it is cut off all over.
#[test]
fn proofs_that_were_changed_are_refused() {
    let files = files();
    let trust = Trust::Expected(&files.baseline);
    let message = |error: VerifyError| match error {
        VerifyError::Bytes { .. } | VerifyError::Rejected(_) => {}
        other => panic!("{other}"),
    };
    let length = files.proof.len();
    for part in 0..24 {
        let mut proof = files.proof.clone();
        let mut place = length * (2 * part + 1) / 48;
        while !proof[place].is_ascii_hexdigit() {
            place += 1;
        }
        proof[place] = if proof[place] == b'1' { b'2' } else { b'1' };
        message(verify_files(&proof, &files.key, trust, MIN_SECURITY_BITS).expect_err("changed"));
        let cut = &files.proof[..length * part / 24];
        files.refused(cut, &files.key, trust, "a proof cannot be taken from bytes");
    }
    let other = changed(&files.proof, "/version", |version| {
        *version = "v99.0".into()
    });
    files.refused(&other, &files.key, trust, "its version is \"v99.0\"");
    for (place, message) in [
        ("/proof", "trailing bytes"),
        ("/user_pvs_proof", "more bytes than a proof"),
    ] {
        let longer = changed(&files.proof, place, |text| {
            *text = format!("{}00", text.as_str().expect("digits")).into();
        });
        files.refused(&longer, &files.key, trust, message);
        let odd = changed(&files.proof, place, |text| *text = "abc".into());
        files.refused(&odd, &files.key, trust, "not hexadecimal");
    }
    // The first revealed byte, in the little-endian elements behind the path and a length.
    let revealed = changed(&files.proof, "/user_pvs_proof", |text| {
        let digits = text.as_str().expect("digits");
        let place = 2 * (4 + 27 * 32 + 4);
        assert_eq!(&digits[place..place + 8], "4b000000");
        *text = format!("{}4c{}", &digits[..place], &digits[place + 2..]).into();
    });
    files.refused(&revealed, &files.key, trust, "not those of the memory");
}

/// Catches a key whose contents are not compared with its hash.
#[test]
fn keys_that_were_changed_are_refused() {
    let files = files();
    let trust = Trust::Expected(&files.baseline);
    let length = files.key.len();
    for part in 0..16 {
        let mut key = files.key.clone();
        key[length * (2 * part + 1) / 32] ^= 1;
        let error = verify_files(&files.proof, &key, trust, MIN_SECURITY_BITS);
        assert!(matches!(error, Err(VerifyError::Bytes { .. })), "{error:?}");
        let cut = &files.key[..length * part / 16];
        files.refused(&files.proof, cut, trust, "a verifying key cannot be taken");
    }
    let refused = |change: fn(&mut VerifyingKey), message: &str| {
        let mut key = VerifyingKey::from_bytes(&files.key).expect("a key");
        change(&mut key);
        let bytes = bitcode::serialize(&(&key.key, key.baseline.expect("a baseline")));
        let bytes = bytes.expect("serialized");
        files.refused(
            &files.proof,
            &bytes,
            Trust::Expected(&files.commit),
            message,
        );
    };
    refused(
        |key| key.key.inner.params.whir.rounds[0].num_queries = 1,
        "do not match its hash",
    );
    refused(|key| key.key.pre_hash[0] += F::ONE, "do not match its hash");
    fn baseline(key: &mut VerifyingKey) -> &mut Baseline {
        key.baseline.as_mut().expect("a baseline")
    }
    // Another place for the public values: final registers, unused memory, a part of them.
    refused(
        |key| baseline(key).memory_dimensions.address_height = 25,
        "unknown origin",
    );
    refused(|key| baseline(key).num_user_pvs = 16, "unknown origin");
    refused(
        |key| baseline(key).internal_recursive_vk_commit.cached_commit[0] += F::ONE,
        "unknown origin",
    );
    let error = verify_files(&files.proof, &files.key, trust, 101.0).expect_err("too few bits");
    assert!(matches!(error, VerifyError::Insecure { .. }), "{error}");
    let error = verify_files(&files.proof, &files.key, trust, f64::NAN).expect_err("no bound");
    assert!(matches!(error, VerifyError::Insecure { .. }), "{error}");
}

/// Catches a key of another circuit, or one without security, that is taken because it is whole.
#[test]
fn keys_of_something_else_are_refused() {
    let files = files();
    let own = Trust::Expected(&files.baseline);
    for trust in [Trust::Key, Trust::Nothing, own] {
        let message = "gives 5.2 bits of security";
        files.refused(&files.toy_proof, &files.toy_key, trust, message);
    }
    let toy = verify_files(&files.toy_proof, &files.toy_key, Trust::Key, 0.0).expect("valid");
    assert!(toy.security_bits < 6.0);
    assert_eq!(toy.public_values[..2], [0x4b, 0x60]);
    let at_any_bits = |proof: &[u8], key: &[u8], trust: Trust<'_>, message: &str| {
        let error = verify_files(proof, key, trust, 0.0).expect_err("refused");
        assert!(error.to_string().contains(message), "{error}");
    };
    let not_the_baselines = "not the key that the baseline names";
    at_any_bits(&files.proof, &files.toy_key, own, not_the_baselines);
    at_any_bits(&files.toy_proof, &files.toy_key, own, not_the_baselines);
    let commit = Trust::Expected(&files.commit);
    at_any_bits(
        &files.toy_proof,
        &files.toy_key,
        commit,
        "not OpenVM's circuit",
    );
    for (proof, key) in [
        (&files.proof, &files.toy_key),
        (&files.toy_proof, &files.key),
    ] {
        at_any_bits(proof, key, Trust::Key, "Stark verifier failed");
    }
}

/// Catches a public value, or a part of a path, that the statement does not depend on: each is changed, without the STARK
/// verifier, which would refuse them all.
#[test]
fn every_public_value_of_the_last_circuit_is_compared() {
    let files = files();
    let proof = StarkProof::from_json(&files.proof).expect("a proof");
    let key = VerifyingKey::from_bytes(&files.key).expect("a key");
    let baseline = key.baseline.expect("a baseline");
    check_statement(&proof, &baseline).expect("the proof's own");
    // The depth, which may be another, and the last address, which the execution ended at.
    let free = [(0, 49), (1, 9)];
    for air in [0, 1] {
        for place in 0..proof.inner.public_values[air].len() {
            let mut other = proof.clone();
            other.inner.public_values[air][place] += F::ONE;
            let is_compared = check_statement(&other, &baseline).is_err();
            assert_eq!(is_compared, !free.contains(&(air, place)), "{air} {place}");
        }
        let mut other = proof.clone();
        other.inner.public_values[air].push(F::ZERO);
        check_statement(&other, &baseline).expect_err("one value more");
        other.inner.public_values[air].truncate(5);
        check_statement(&other, &baseline).expect_err("values are missing");
    }
    let changes: [fn(&mut StarkProof); 12] = [
        |proof| proof.inner.public_values[0][49] = F::ZERO,
        |proof| proof.inner.public_values[0][49] = F::ONE,
        |proof| proof.inner.public_values[0][49] = F::from_u32(257),
        |proof| proof.user_pvs_proof.public_values[31] += F::ONE,
        |proof| proof.user_pvs_proof.public_values_commit[0] += F::ONE,
        |proof| proof.user_pvs_proof.proof[0][0] += F::ONE,
        |proof| proof.user_pvs_proof.proof[26][7] += F::ONE,
        |proof| proof.user_pvs_proof.proof.push([F::ZERO; 8]),
        |proof| proof.user_pvs_proof.proof.truncate(26),
        |proof| proof.inner.public_values[2].push(F::ZERO),
        |proof| proof.inner.trace_vdata[3] = None,
        |proof| proof.inner.public_values.truncate(2),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut other = proof.clone();
        change(&mut other);
        check_statement(&other, &baseline).expect_err(&format!("change {number}"));
    }
    assert_eq!(
        bytes(&proof.user_pvs_proof.public_values).expect("bytes")[..2],
        [0x4b, 0x60]
    );
}
