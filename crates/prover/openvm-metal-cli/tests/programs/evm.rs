//! Proofs for the EVM: what is refused before work, contracts and proofs that were altered, and the whole way as a campaign.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{json, Value};

use crate::support::{command, elf, fails, guest, json, succeeds, text, Folder};

/// The x coordinate's first half of the second group's point of halo2's test parameters, whose secret everybody knows.
const PUBLIC_SECRET: &str = "1783d30dcb12d259bb89098addf6280fa4b653be7a152542a28f7b926e27e648";

/// A folder with a contract of this deployment code, in openvm-sdk's files.
fn contract(folder: &Path, code: &str) -> String {
    let files = folder.join("src/v2.0");
    fs::create_dir_all(files.join("interfaces")).expect("a folder");
    for name in [
        "Halo2Verifier.sol",
        "OpenVmHalo2Verifier.sol",
        "interfaces/IOpenVmHalo2Verifier.sol",
    ] {
        fs::write(files.join(name), "// no source").expect("a file");
    }
    let artifact = json!({
        "sol_compiler_version": "0.8.19", "sol_compiler_options": "", "bytecode": code,
    });
    fs::write(files.join("verifier.bytecode.json"), artifact.to_string()).expect("a file");
    folder.display().to_string()
}

/// Code that deploys a contract of these at most 32 bytes.
fn deploys(runtime: &str) -> String {
    let length = runtime.len() / 2;
    // PUSH the runtime as a word, MSTORE it at 0, RETURN its bytes, which end the word.
    format!("7f{runtime:0>64}5f5260{length:02x}60{:02x}f3", 32 - length)
}

fn proof(folder: &Path) -> String {
    let path = folder.join("a.evm.proof");
    // Below the modulus of commitments.
    let commit = |byte: u8| format!("0x00{}", format!("{byte:02x}").repeat(31));
    let proof = json!({
        "version": "v2.0", "app_exe_commit": commit(1), "app_vm_commit": commit(2),
        "user_public_values": "0x0102",
        "proof_data": { "accumulator": commit(3), "proof": "0x04" },
    });
    fs::write(&path, proof.to_string()).expect("a file");
    path.display().to_string()
}

/// Catches a contract whose answer is not asked for, one of a public secret that passes, and a program that is not compared.
#[test]
fn contracts_decide() {
    let folder = Folder::new();
    let proof = proof(folder.0.path());
    let of = |name: &str, code: &str| contract(&folder.0.path().join(name), code);
    let verify = |contract: &str| -> Vec<String> {
        [
            "verify",
            "evm",
            &proof,
            "--contract",
            contract,
            "--trust-vk",
        ]
        .map(String::from)
        .to_vec()
    };
    let fails_with = |words: &[String], status: i32, message: &str| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        fails(&words, status, message);
    };
    // STOP accepts every call, REVERT none.
    let accepts = of("accepts", &deploys("00"));
    let rejects = of("rejects", &deploys("5f5ffd"));
    fails_with(&verify(&rejects), 1, "the contract rejects the proof");
    fails_with(&verify(&accepts)[..5], 1, "unknown origin");
    fails_with(
        &verify(&folder.file("nothing")),
        1,
        "not usable as a contract",
    );
    let words = verify(&accepts);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let report = json(&[&words[..], &["--json"]].concat());
    assert_eq!(report["valid"], true);
    assert_eq!(report["public_values"], "0x0102");
    assert_eq!(report["unsafe_test_params"], false);

    // A contract that accepts everything, with the word of the secret in its code.
    let insecure = of("insecure", &(deploys("00") + PUBLIC_SECRET));
    fails_with(&verify(&insecure), 1, "can be FORGED");
    let allowed = [verify(&insecure), vec!["--allow-insecure".into()]].concat();
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
    assert!(succeeds(&allowed).contains("security         none"));

    // A contract that accepts calls of `verify(bytes,bytes,bytes32,bytes32)` alone, by the first four bytes of the data.
    let selects = of(
        "selects",
        &deploys("5f3560e01c6324270d54146011575f5ffd5b00"),
    );
    let other = of("other", &deploys("5f3560e01c6324270d55146011575f5ffd5b00"));
    let words = verify(&selects);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(json(&[&words[..], &["--json"]].concat())["gas"].as_u64() > Some(21_000));
    fails_with(&verify(&other), 1, "the contract rejects the proof");
    fails_with(&verify(&of("empty", "")), 1, "it has no code");

    let commit = folder.file("a.commit.json");
    let compared = [verify(&accepts), vec!["--commit".into(), commit.clone()]].concat();
    for (exe, vm, message) in [
        (5, 2, "the program is"),
        (1, 5, "the virtual machine is"),
        (1, 2, ""),
    ] {
        let byte = |byte: u8| format!("0x00{}", format!("{byte:02x}").repeat(31));
        let file = json!({ "app_exe_commit": byte(exe), "app_vm_commit": byte(vm) });
        fs::write(&commit, file.to_string()).expect("a file");
        match message {
            "" => {
                let words: Vec<&str> = compared.iter().map(String::as_str).collect();
                assert!(succeeds(&words).contains("compared with    "));
                let report = json(&[&words[..], &["--json"]].concat());
                assert_eq!(report["compared"].as_array().map(Vec::len), Some(2));
            }
            _ => fails_with(&compared, 1, message),
        }
    }
    // Commitments of circuits whose proofs can be forged.
    let byte = |byte: u8| format!("0x00{}", format!("{byte:02x}").repeat(31));
    let file = json!({ "app_exe_commit": byte(1), "app_vm_commit": byte(2), "security_bits": 3.0 });
    fs::write(&commit, file.to_string()).expect("a file");
    fails_with(&compared, 1, "--allow-insecure");

    fs::write(&proof, "{}").expect("a file");
    fails_with(&verify(&accepts), 1, "not usable as a proof for the EVM");
}

/// A command that finds a program `solc` which says this version.
fn with_solc(folder: &Path, version: &str, words: &[&str]) -> Command {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    let solc = bin.join("solc");
    fs::write(
        &solc,
        format!("#!/bin/sh\necho 'Version: {version}+commit'\n"),
    )
    .expect("a file");
    fs::set_permissions(&solc, fs::Permissions::from_mode(0o755)).expect("permissions");
    let mut command = command(words);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command
}

/// Catches keys that are begun without parameters or compiler, which would fail after minutes.
#[test]
fn what_is_missing_is_said_before_work() {
    let folder = Folder::new();
    let (program, out) = (elf("fibonacci"), folder.file("keys"));
    let params = folder.file("params");
    fs::create_dir_all(&params).expect("a folder");
    let setup = [
        "setup", &program, "--toy", "--out", &out, "--evm", "--params", &params,
    ];
    let said = |version: &str, more: &[&str]| {
        let words = [&setup[..], more].concat();
        let output = with_solc(folder.0.path(), version, &words)
            .output()
            .expect("the binary runs");
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        text(&output.stderr)
    };
    let unsafe_ones = ["--unsafe-test-params"];
    assert!(said("0.8.19", &[]).contains("no KZG parameters for 2^23 rows"));
    assert!(said("0.8.20", &unsafe_ones).contains("another version (Version: 0.8.20"));
    let file = Path::new(&params).join("kzg_bn254_23.srs");
    fs::write(file, [23, 0, 0, 0]).expect("a file");
    assert!(said("0.8.19", &[]).contains("those for 2^23 rows have 1073742084"));

    let prove = ["prove", "evm", "--from", "a.root.proof", "--keys", &out];
    fails(&prove, 1, "the facts about EVM keys");
    let facts = json!({
        "version": "v1.9", "parameters": "ceremony", "s_g2": "", "verifier_k": 23, "wrapper_k": 22, "public_values": 32, "security_bits": 100.0,
    });
    fs::write(Path::new(&out).join("evm.json"), facts.to_string()).expect("a file");
    fails(&prove, 1, "they are of OpenVM v1.9");
}

/// The whole way, from an executable to proofs that the contract accepts or refuses. `OPENVM_METAL_TEST_EVM` names a folder where keys and
/// parameters are kept: without them the test takes half an hour on two cores, with them a quarter. 24 GiB of memory, `solc`.
#[test]
#[ignore = "half an hour, 24 GiB of memory, solc"]
fn from_an_executable_to_the_contract() {
    let folder = Folder::new();
    let kept = std::env::var_os("OPENVM_METAL_TEST_EVM")
        .map_or_else(|| folder.0.path().to_path_buf(), PathBuf::from);
    let place = |name: &str| kept.join(name).display().to_string();
    let (keys, params, halo2) = (place("keys"), place("params"), place("keys/halo2"));
    let (program, input) = (elf("fibonacci"), guest("fibonacci", "input.json"));
    let unsafe_ones = ["--params", &params, "--unsafe-test-params"];
    if !Path::new(&halo2).is_dir() {
        let setup = ["setup", &program, "--out", &keys, "--root", "--evm"];
        succeeds(&[&setup[..], &unsafe_ones].concat());
    }
    let (proof_file, root_pk) = (folder.file("fib.evm.proof"), place("keys/root.pk"));
    let mut prove = command(&[
        "prove",
        "evm",
        &program,
        "--input",
        &input,
        "--keys",
        &keys,
        "--root-pk",
        &root_pk,
        "--proof",
        &proof_file,
        "--json",
    ]);
    let proved = prove
        .args(unsafe_ones)
        .current_dir(&folder.0)
        .output()
        .expect("the binary runs");
    assert!(proved.status.success(), "{}", text(&proved.stderr));
    let report: Value = serde_json::from_slice(&proved.stdout).expect("JSON");
    assert_eq!(report["unsafe_test_params"], true);

    let verify = [
        "verify",
        "evm",
        &proof_file,
        "--contract",
        &halo2,
        "--trust-vk",
    ];
    fails(&verify, 1, "can be FORGED");
    let accepted = [&verify[..], &["--allow-insecure"]].concat();
    let said = json(&[&accepted[..], &["--json"]].concat());
    assert_eq!(said["public_values"], report["public_values"]);
    assert!(said["gas"].as_u64() > Some(100_000), "{said}");

    // Everything that a proof says, changed in one place.
    let good: Value =
        serde_json::from_slice(&fs::read(&proof_file).expect("the proof")).expect("JSON");
    let changed = [
        "/user_public_values",
        "/app_exe_commit",
        "/app_vm_commit",
        "/proof_data/accumulator",
        "/proof_data/proof",
    ];
    for place in changed {
        let mut proof = good.clone();
        let value = proof.pointer_mut(place).expect("a part");
        let digits = value.as_str().expect("digits").to_owned();
        let last = if digits.ends_with('0') { "1" } else { "0" };
        *value = format!("{}{last}", &digits[..digits.len() - 1]).into();
        fs::write(&proof_file, proof.to_string()).expect("a file");
        fails(&accepted, 1, "the contract rejects the proof");
    }
    // Fewer public values than the contract is made for.
    let mut proof = good.clone();
    proof["user_public_values"] = "0x00".into();
    fs::write(&proof_file, proof.to_string()).expect("a file");
    fails(&accepted, 1, "the contract rejects the proof");
    assert!(
        folder.0.path().join("fibonacci.root.proof").is_file(),
        "the root proof stays"
    );
}
