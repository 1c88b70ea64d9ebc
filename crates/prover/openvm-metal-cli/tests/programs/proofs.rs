//! Proofs of programs, and their files.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{command, elf, fails, guest, json, run, succeeds, text, Folder};

/// Keys, an executable, application proofs: made, damaged, and of something else.
#[test]
fn prove_app_files() {
    let folder = Folder::new();
    let (program, input) = (elf("fibonacci"), guest("fibonacci", "input.json"));
    let (proof, vk) = (folder.file("proof"), folder.file("vk"));
    let prove = [
        "prove", "app", &program, "--input", &input, "--toy", "--device", "cpu",
    ];
    let report = json(&[&prove[..], &["--proof", &proof, "--vk", &vk, "--json"]].concat());
    assert_eq!(report["segments"], 1);
    assert!(report["host_memory_peak"].as_u64() > report["device_memory_peak"].as_u64());
    assert!(report["host_traces_peak"].as_u64() > Some(0));
    fails(
        &[&prove[..], &["--host-memory", "1M"]].concat(),
        1,
        "MiB of host memory, and 1 MiB are allowed: allow more (--host-memory",
    );
    let trust = ["--trust-vk", "--allow-insecure"];
    let said = succeeds(&[&["verify", "app", &proof, "--vk", &vk], &trust[..]].concat());
    assert!(
        said.starts_with("the proof is valid, public values 0x4b60c05cc74d590b"),
        "{said}"
    );

    // A proof of this program, and of another with the same configuration.
    let commit = |name: &str| {
        let out = folder.file(name);
        json(&[
            "commit",
            &elf(name),
            "--toy",
            "--device",
            "cpu",
            "--out",
            &out,
            "--json",
        ]);
        format!("{out}/{name}.insecure.commit.json")
    };
    let (own, other) = (commit("fibonacci"), commit("words"));
    let with_commit = |commit: &str| {
        let args = ["verify", "app", &proof, "--vk", &vk, "--commit", commit];
        [&args[..], &trust[..]]
            .concat()
            .into_iter()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let of_own = with_commit(&own);
    succeeds(&of_own.iter().map(String::as_str).collect::<Vec<_>>());
    let of_other = with_commit(&other);
    fails(
        &of_other.iter().map(String::as_str).collect::<Vec<_>>(),
        1,
        "it is of the executable",
    );

    // Another input has another proof, which this key verifies; another configuration has another key.
    succeeds(&[
        "keygen",
        &program,
        "--config",
        &guest("sha256", "openvm.toml"),
        "--toy",
        "--out",
        &folder.file("keys"),
    ]);
    let other_vk = folder.file("keys/app.vk");
    fails(
        &[&["verify", "app", &proof, "--vk", &other_vk], &trust[..]].concat(),
        1,
        "not accepted",
    );
    let other_pk = folder.file("keys/app.pk");
    fails(
        &[
            "prove",
            "app",
            &program,
            "--input",
            &input,
            "--app-pk",
            &other_pk,
            "--allow-insecure",
        ],
        1,
        "belongs to another configuration",
    );

    let damaged = folder.file("damaged");
    let cut = |file: &str, name: &str| {
        let bytes = fs::read(file).expect("a file");
        for length in [0, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&damaged, &bytes[..length]).expect("a file");
            match name {
                "proof" => fails(
                    &[&["verify", "app", &damaged, "--vk", &vk], &trust[..]].concat(),
                    1,
                    "not usable as an application proof",
                ),
                "vk" => fails(
                    &[&["verify", "app", &proof, "--vk", &damaged], &trust[..]].concat(),
                    1,
                    "not usable as an application verifying key",
                ),
                _ => fails(
                    &["prove", "app", &program, "--app-pk", &damaged],
                    1,
                    "not usable as an application proving key",
                ),
            }
        }
    };
    cut(&proof, "proof");
    cut(&vk, "vk");
    cut(&other_pk, "pk");
}

#[test]
fn prove_stark_files() {
    let folder = Folder::new();
    let (program, input) = (elf("sha256"), guest("sha256", "input.json"));
    let (proof, vk) = (folder.file("proof"), folder.file("vk"));
    let keys = folder.file("keys");
    for command in ["keygen", "setup"] {
        succeeds(&[
            command, &program, "--toy", "--device", "cpu", "--out", &keys,
        ]);
    }
    let names = ["app.pk", "internal_recursive.pk", "internal_recursive.vk"];
    let [app_pk, agg_pk, agg_vk] = names.map(|f| format!("{keys}/{f}"));
    // cargo-openvm's names, and the prefix is found beside the application's key.
    let mut written: Vec<_> = fs::read_dir(&keys)
        .expect("a folder")
        .map(|file| file.expect("a file").file_name())
        .collect();
    written.sort();
    assert_eq!(
        written,
        [
            "agg_prefix.pk",
            "app.pk",
            "app.vk",
            "internal_recursive.pk",
            "internal_recursive.vk"
        ]
    );
    let output = run(&[
        "prove",
        "stark",
        &program,
        "--input",
        &input,
        "--app-pk",
        &app_pk,
        "--agg-pk",
        &agg_pk,
        "--device",
        "cpu",
        "--proof",
        &proof,
        "--vk",
        &vk,
        "--allow-insecure",
    ]);
    let (said, progress) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{progress}");
    for part in [
        "memory image",
        "preflight",
        "traces",
        "upload",
        "aggregation",
        "accepted by OpenVM's verifier",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    for part in [
        "segment 1 of 1",
        "instructions/s",
        "aggregation layer leaf: node 1 proved",
    ] {
        assert!(progress.contains(part), "{part} is not in {progress}");
    }
    let trust = ["--trust-vk", "--allow-insecure"];
    let said = succeeds(&[&["verify", "stark", &proof, "--vk", &vk], &trust[..]].concat());
    let expected: Value = serde_json::from_str(
        &fs::read_to_string(guest("sha256", "expected.json")).expect("a file"),
    )
    .expect("JSON");
    assert!(
        said.contains(expected["public_values"].as_str().expect("hex")),
        "{said}"
    );

    // With what the proof's command wrote beside it.
    let [written_commit, written_baseline] =
        ["commit", "baseline"].map(|kind| folder.file(&format!("sha256.insecure.{kind}.json")));
    succeeds(&[
        "verify",
        "stark",
        &proof,
        "--agg-vk",
        &agg_vk,
        "--baseline",
        &written_baseline,
        "--commit",
        &written_commit,
        "--allow-insecure",
    ]);

    // With cargo-openvm's files, of this program and of another.
    succeeds(&[
        "commit",
        &program,
        "--app-pk",
        &app_pk,
        "--agg-pk",
        &agg_pk,
        "--device",
        "cpu",
        "--out",
        &keys,
        "--allow-insecure",
    ]);
    let baseline = format!("{keys}/sha256.insecure.baseline.json");
    for (one, other) in [(&written_baseline, "baseline"), (&written_commit, "commit")] {
        let other = fs::read(format!("{keys}/sha256.insecure.{other}.json")).expect("a file");
        assert!(fs::read(one).expect("a file") == other, "{one}");
    }
    let by_files = [
        "verify",
        "stark",
        &proof,
        "--agg-vk",
        &agg_vk,
        "--baseline",
        &baseline,
        "--allow-insecure",
    ];
    succeeds(&by_files);
    fails(&by_files[..5], 2, "--baseline");
    let json = fs::read_to_string(&baseline).expect("a file");
    let mut json: Value = serde_json::from_str(&json).expect("JSON");
    json["app_exe_commit"] = json["app_vk_commit"]["vk_pre_hash"].clone();
    fs::write(&baseline, json.to_string()).expect("a file");
    fails(&by_files, 1, "the proof is not accepted");

    let damaged = folder.file("damaged");
    let bytes = fs::read(&proof).expect("a file");
    fs::write(&damaged, &bytes[..bytes.len() / 2]).expect("a file");
    fails(
        &["verify", "stark", &damaged, "--vk", &vk],
        1,
        "not usable as a proof",
    );
    let bytes = fs::read(&vk).expect("a file");
    fs::write(&damaged, &bytes[..bytes.len() / 2]).expect("a file");
    fails(
        &["verify", "stark", &proof, "--vk", &damaged],
        1,
        "not usable as a verifying key of a program",
    );
    fails(
        &["verify", "stark", &vk, "--vk", &proof],
        1,
        "not usable as a proof",
    );
    fails(
        &["verify", "stark", &folder.file("missing"), "--vk", &vk],
        1,
        "missing",
    );
}

#[test]
fn resume_continues_from_proved_segments() {
    let folder = Folder::new();
    let (program, input) = (elf("sha256"), guest("sha256", "input.json"));
    let jobs = folder.file("job");
    let prove = |input: &str, proof: &str| -> Vec<String> {
        let (proof, vk) = (folder.file(proof), folder.file("vk"));
        let args = [
            "prove", "app", &program, "--input", input, "--toy", "--device", "cpu", "--resume",
            &jobs, "--proof", &proof, "--vk", &vk, "--json",
        ];
        args.map(String::from).to_vec()
    };
    let resumed = |args: Vec<String>| {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        json(&args)["resumed"].as_u64()
    };
    let refused = |args: Vec<String>| {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        fails(&args, 1, "resume folder");
    };
    assert_eq!(resumed(prove(&input, "first")), Some(0));
    assert_eq!(resumed(prove(&input, "second")), Some(1));
    let read = |name: &str| fs::read(folder.file(name)).expect("a proof");
    assert_eq!(read("first"), read("second"));

    // Another input is another job; a damaged proof is set aside and made again.
    refused(prove("0x0161", "third"));
    let segment = Path::new(&jobs).join("segment-0.proof");
    let mut bytes = fs::read(&segment).expect("a proof");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).expect("a file");
    let third = prove(&input, "third");
    let output = run(&third.iter().map(String::as_str).collect::<Vec<_>>());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(read("first"), read("third"));
    let names = fs::read_dir(&jobs).expect("a folder").flatten();
    let names: Vec<_> = names
        .map(|file| file.file_name().into_string().expect("a name"))
        .collect();
    let is_set_aside = |name: &String| name.starts_with("segment-0.proof.rejected-");
    assert!(names.iter().any(is_set_aside), "{names:?}");
}

#[test]
fn prove_on_several_devices() {
    let folder = Folder::new();
    let (program, input) = (elf("fibonacci"), guest("fibonacci", "input.json"));
    let prove = |devices: &[&str], name: &str| {
        let (proof, vk) = (folder.file(name), folder.file("vk"));
        let fixed = [
            "prove", "app", &program, "--input", &input, "--toy", "--proof", &proof, "--vk", &vk,
        ];
        json(&[&fixed[..], devices, &["--json"]].concat())
    };
    let names = |report: &Value| -> Vec<String> {
        let devices = report["devices"].as_array().expect("a list");
        let name = |device: &Value| device["name"].as_str().expect("a name").to_owned();
        devices.iter().map(name).collect()
    };
    let one = prove(&["--device", "cpu"], "one");
    assert_eq!(names(&one), ["cpu"]);
    let two = prove(
        &[
            "--devices",
            "cpu,cpu",
            "--machines",
            "2",
            "--in-flight",
            "2",
        ],
        "two",
    );
    assert_eq!(names(&two), ["cpu #1", "cpu #2"]);
    let segments = |device: &Value| device["segments"].as_u64().expect("a number");
    let devices = two["devices"].as_array().expect("a list");
    let sum: u64 = devices.iter().map(segments).sum();
    assert_eq!(Some(sum), two["segments"].as_u64());
    let read = |name: &str| fs::read(folder.file(name)).expect("a proof");
    assert!(read("one") == read("two"), "bytes depend on devices");

    for (devices, message) in [
        (&["--devices", "cuda,cuda:0"][..], "cuda is named twice"),
        (&["--devices", "auto,cpu"][..], "auto stands alone"),
        (&["--devices", "cpu,gpu"][..], "gpu"),
        (
            &["--devices", "cpu", "--device", "cpu"][..],
            "cannot be used with",
        ),
        (&["--devices", "cpu", "--machines", "0"][..], "0"),
    ] {
        fails(&[&["prove", "app", &program], devices].concat(), 2, message);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_no_file() {
    use crate::interrupts::with_interrupts;
    use std::{process::Stdio, time::Duration};
    let folder = Folder::new();
    let (elf, input) = (elf("json"), guest("json", "input.json"));
    let mut prove = command(&["prove", "stark", &elf, "--input", &input, "--device", "cpu"]);
    let child = with_interrupts(&mut prove)
        .current_dir(&folder.0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.expect("the binary runs");
    std::thread::sleep(Duration::from_secs(2));
    let signal = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status();
    assert!(signal.expect("sh").success());
    assert_eq!(child.wait().expect("a child").code(), Some(130));
    assert_eq!(fs::read_dir(&folder.0).expect("a folder").count(), 0);
}
