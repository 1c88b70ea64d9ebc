//! Proofs of circuits.

use serde_json::Value;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::folder::Folder;
use crate::support::{fails, run, stderr, stdout};

const SMALL: [&str; 4] = ["--permutations", "2", "--log-stacked", "14"];

fn prove(circuit: &str, more: &[&str]) -> Vec<String> {
    let args = [&["circuit", circuit], &SMALL[..], more].concat();
    args.into_iter().map(str::to_owned).collect()
}

fn run_all(args: &[String]) -> Output {
    run(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

fn prove_fails(circuit: &str, more: &[&str], status: i32, text: &str) {
    let args: Vec<&str> = ["circuit", circuit].iter().chain(more).copied().collect();
    fails(&args, status, text);
}

#[test]
fn circuit_json() {
    let output = run_all(&prove(
        "keccakf",
        &["--device", "cpu", "--runs", "2", "--json"],
    ));
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(report["circuit"], "keccakf");
    assert_eq!(report["engine"], "metal");
    assert_eq!(report["valid"], true);
    assert_eq!(report["runs_seconds"].as_array().map(Vec::len), Some(2));
    assert!(report["median_seconds"].as_f64() > Some(0.0));
    let stages = report["counters"]["stages"].as_array().expect("stages");
    for name in [
        "stacked_commit",
        "prover.rap_constraints",
        "prover.openings",
    ] {
        let stage = stages.iter().find(|stage| stage["stage"] == name);
        assert!(stage.is_some(), "{name} is missing");
    }
    let fallbacks = stages
        .iter()
        .map(|stage| stage["host_fallbacks"].as_object());
    assert!(fallbacks.flatten().all(|fallbacks| fallbacks.is_empty()));
    assert!(stderr(&output).is_empty(), "{}", stderr(&output));
}

#[test]
fn circuit_table() {
    for circuit in ["fibonacci", "interactions", "mixed"] {
        let output = run_all(&prove(circuit, &["--device", "cpu"]));
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stdout(&output);
        for part in [
            "stacked_commit",
            "dispatches",
            "valid",
            "fallbacks to the host: none",
        ] {
            assert!(text.contains(part), "{circuit}: {part} is not in {text}");
        }
    }
}

/// Proofs of all engines are valid and as long as each other. Times are those of any engine, counts those of ours.
#[cfg(feature = "reference")]
#[test]
fn engines_agree() {
    let folder = Folder::new();
    let mut proofs = vec![];
    for engine in ["metal", "reference", "cpu"] {
        let (file, key) = (folder.file(engine), folder.file("vk"));
        let args = ["--engine", engine, "--out", &file, "--vk", &key, "--json"];
        let output = run_all(&prove("mixed", &args));
        assert!(output.status.success(), "{engine}: {}", stderr(&output));
        let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        assert_eq!(report["engine"], engine);
        assert!(report["runs_seconds"][0].as_f64() > Some(0.0), "{engine}");
        let sum = |count: &str| {
            let stages = report["counters"]["stages"].as_array()?;
            stages.iter().map(|stage| stage[count].as_u64()).sum()
        };
        for count in ["dispatches", "waits", "peak_bytes"] {
            let counted: Option<u64> = sum(count);
            assert_eq!(counted > Some(0), engine == "metal", "{engine}: {count}");
        }
        let output = run(&["verify", "circuit", "--trust-vk", &file, &key]);
        assert!(
            stdout(&output).starts_with("the proof is valid\n"),
            "{engine}"
        );
        proofs.push(std::fs::read(file).expect("a proof").len());
    }
    // Only the witnesses of work may differ: ours are the smallest.
    assert!(proofs.iter().all(|len| *len == proofs[0]), "{proofs:?}");
}

#[test]
fn invalid_proofs_are_refused() {
    let folder = Folder::new();
    let (proof, key) = (folder.file("proof"), folder.file("vk"));
    let output = run_all(&prove("fibonacci", &["--out", &proof, "--vk", &key]));
    assert!(output.status.success(), "{}", stderr(&output));
    let other = folder.file("other-vk");
    let output = run_all(&prove("mixed", &["--vk", &other]));
    assert!(output.status.success(), "{}", stderr(&output));

    let missing = folder.file("missing");
    fails(
        &["verify", "circuit", "--trust-vk", &missing, &key],
        1,
        "No such file",
    );
    fails(
        &["verify", "circuit", "--trust-vk", &proof, &missing],
        1,
        "No such file",
    );
    fails(
        &["verify", "circuit", "--trust-vk", &key, &proof],
        1,
        "not usable as a proof of a circuit",
    );
    fails(
        &["verify", "circuit", "--trust-vk", &proof, &proof],
        1,
        "not usable as a verifying key of a circuit",
    );
    fails(
        &["verify", "circuit", "--trust-vk", &proof, &other],
        1,
        "the proof is not valid",
    );

    let (good_proof, good_key) = (std::fs::read(&proof), std::fs::read(&key));
    let (good_proof, good_key) = (good_proof.expect("proof"), good_key.expect("key"));
    let bad = folder.file("bad");
    for cut in [0, 1, 3, 4, 100, good_proof.len() - 1] {
        std::fs::write(&bad, &good_proof[..cut]).expect("a file");
        fails(
            &["verify", "circuit", "--trust-vk", &bad, &key],
            1,
            "not usable as a proof of a circuit",
        );
    }
    for cut in [0, 1, 100, good_key.len() - 1] {
        std::fs::write(&bad, &good_key[..cut]).expect("a file");
        fails(
            &["verify", "circuit", "--trust-vk", &proof, &bad],
            1,
            "not usable as a verifying key of a circuit",
        );
    }
    // Every eleventh part of each file with one bit changed, and one byte too many.
    let changed = |good: &[u8], at: usize| {
        let mut bytes = good.to_vec();
        match bytes.get_mut(at) {
            Some(byte) => *byte ^= 1,
            None => bytes.push(0),
        }
        std::fs::write(&bad, bytes).expect("a file");
    };
    for part in 0..=11 {
        changed(&good_proof, part * good_proof.len() / 11);
        fails(&["verify", "circuit", "--trust-vk", &bad, &key], 1, "error");
        changed(&good_key, part * good_key.len() / 11);
        fails(
            &["verify", "circuit", "--trust-vk", &proof, &bad],
            1,
            "not usable as a verifying key of a circuit",
        );
    }
}

#[test]
fn bad_circuit_options_are_refused_before_work() {
    let most = usize::MAX.to_string();
    for circuit in ["keccakf", "fibonacci", "interactions", "mixed"] {
        prove_fails(circuit, &["-n", &most], 2, "over 2^63");
        prove_fails(circuit, &["-n", "400000000"], 2, "stacked height is 2^21");
        prove_fails(circuit, &["-n", "0"], 2, "--permutations");
    }
    prove_fails(
        "keccakf",
        &["-n", "2000", "--log-stacked", "14"],
        2,
        "2^16 rows",
    );
    prove_fails("keccakf", &["--runs", "0"], 2, "--runs");
    prove_fails("keccakf", &["--log-stacked", "25"], 2, "25");
    prove_fails("keccakf", &["--log-stacked", "13"], 2, "13");
    prove_fails("keccakf", &["--engine", "gpu"], 2, "--engine");
    prove_fails("keccakf", &["--device", "toaster"], 2, "toaster");
    prove_fails("sha256", &[], 2, "sha256");
    if cfg!(feature = "reference") {
        let both = ["--engine", "cpu", "--device", "cpu"];
        prove_fails("keccakf", &both, 2, "--device is for");
    }
    let folder = Folder::new();
    let inside = folder.file("no-such-folder/proof");
    prove_fails("keccakf", &["--out", &inside], 1, "cannot write");
    prove_fails("keccakf", &["--vk", &inside], 1, "no-such-folder");
    prove_fails("keccakf", &["--out", &folder.file("")], 1, "cannot write");
    let file = folder.file("file");
    prove_fails("keccakf", &["--out", &file, "--vk", &file], 2, "same file");
    prove_fails("keccakf", &["--out", &file, "--runs", "0"], 2, "--runs");
    std::fs::write(&file, "kept").expect("a file");
    prove_fails("keccakf", &["--out", &file, "-n", "400000000"], 2, "rows");
    assert_eq!(std::fs::read(&file).expect("the file"), b"kept");
}

#[test]
fn memory_budget_of_the_environment() {
    let output = Command::new(env!("CARGO_BIN_EXE_openvm-metal"))
        .args([
            "circuit",
            "fibonacci",
            "-n",
            "4096",
            "--log-stacked",
            "14",
            "--device",
            "cpu",
        ])
        .env("OPENVM_METAL_MEMORY_BUDGET", "1M")
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("the budget is 1048576"), "{text}");
    assert!(text.contains("OPENVM_METAL_MEMORY_BUDGET"), "{text}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_proof() {
    use crate::interrupts::with_interrupts;
    use std::process::Stdio;
    let mut command = Command::new(env!("CARGO_BIN_EXE_openvm-metal"));
    command.args([
        "circuit", "keccakf", "-n", "500", "--runs", "100", "--device", "cpu",
    ]);
    let mut child = with_interrupts(&mut command)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    std::thread::sleep(Duration::from_secs(2));
    // The shell's own `kill`: small systems have no other.
    let signal = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status();
    assert!(signal.expect("sh").success());
    let start = Instant::now();
    let status = loop {
        match child.try_wait().expect("a child") {
            Some(status) => break status,
            None if start.elapsed() > Duration::from_secs(10) => {
                let _ = child.kill();
                panic!("the process did not end");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert_eq!(status.code(), Some(130));
}
