//! Programs through the command: run, keys, proofs, files, and what users get wrong.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_openvm-metal"));
    command.args(args).env_remove("OPENVM_METAL_DEVICE");
    command
}

fn run(args: &[&str]) -> Output {
    command(args).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of a command that must succeed.
fn succeeds(args: &[&str]) -> String {
    let output = run(args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&succeeds(args)).expect("JSON")
}

/// Runs a command that must fail with `status`, naming `message`, without a panic of ours.
fn fails(args: &[&str], status: i32, message: &str) {
    let output = run(args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
    assert!(said.contains(message), "{args:?}: {said}");
    assert!(!said.contains("panicked at"), "{args:?}: {said}");
}

/// A file of an example guest.
fn guest(name: &str, file: &str) -> String {
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/guests");
    guests.join(name).join(file).display().to_string()
}

fn elf(name: &str) -> String {
    guest(name, &format!("{name}.elf"))
}

/// A folder of one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!(
            "openvm-metal-programs-{name}-{}",
            std::process::id()
        ));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn runs_in_every_mode() {
    let (elf, input) = (elf("fibonacci"), guest("fibonacci", "input.json"));
    let expected: Value = serde_json::from_str(
        &fs::read_to_string(guest("fibonacci", "expected.json")).expect("a file"),
    )
    .expect("JSON");
    for mode in ["pure", "meter", "segment"] {
        let args = [
            "run", &elf, "--input", &input, "--mode", mode, "--toy", "--device", "cpu", "--json",
        ];
        let report = json(&args);
        assert_eq!(report["public_values"], expected["public_values"], "{mode}");
        let instructions = report["instructions"].as_u64();
        assert_eq!(instructions.is_some(), mode != "pure", "{mode}");
        assert_eq!(
            report["segments"].as_array().map(Vec::len),
            (mode == "segment").then_some(1),
            "{mode}"
        );
    }
    // The same value without a file.
    let direct = json(&["run", &elf, "--input", "0x01e803000000000000", "--json"]);
    assert_eq!(direct["public_values"], expected["public_values"]);
}

#[test]
fn bytes_of_a_file_are_an_input() {
    let folder = Folder::new("bytes");
    fs::write(folder.file("abc.txt"), "abc").expect("a file");
    let report = json(&[
        "run",
        &elf("sha256"),
        "--input",
        &folder.file("abc.txt"),
        "--json",
    ]);
    // FIPS 180-2, appendix B.1.
    let digest = "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(report["public_values"], digest);
}

#[test]
fn guests_that_fail() {
    let fibonacci = elf("fibonacci");
    fails(&["run", &fibonacci], 1, "the guest reads past its input");
    let forever = [
        "run",
        &fibonacci,
        "--input",
        "0x01ffffffffffffffff",
        "--max-instructions",
        "100000",
    ];
    fails(&forever, 1, "did not end within 100000 instructions");
    fails(
        &["run", &elf("bigint"), "--input", "0x0104000000"],
        1,
        "the guest ended with exit code 1",
    );

    // One bit of the signature is another.
    let folder = Folder::new("signature");
    let input = fs::read_to_string(guest("ecdsa", "input.json")).expect("a file");
    let mut input: Value = serde_json::from_str(&input).expect("JSON");
    let signature = input["input"][2].as_str().expect("a value").to_owned();
    let last = if signature.ends_with('0') { '1' } else { '0' };
    input["input"][2] = format!("{}{last}", &signature[..signature.len() - 1]).into();
    let bad = folder.file("input.json");
    fs::write(&bad, input.to_string()).expect("a file");
    fails(
        &["run", &elf("ecdsa"), "--input", &bad],
        1,
        "the guest ended with exit code 1",
    );
}

#[test]
fn programs_that_are_none() {
    let folder = Folder::new("none");
    fails(&["run", &folder.file("missing")], 2, "no such program");
    fails(
        &["run", &guest("sha256", "src/main.rs")],
        1,
        "not a guest's ELF",
    );
    fails(
        &["run", env!("CARGO_BIN_EXE_openvm-metal")],
        1,
        "not a guest's ELF",
    );
    let config = guest("fibonacci", "openvm.toml");
    for (name, extension) in [
        ("sha256", "sha2"),
        ("keccak256", "keccak"),
        ("bigint", "bigint"),
    ] {
        let message = format!("extension `{extension}`");
        fails(&["run", &elf(name), "--config", &config], 1, &message);
    }
    fs::write(folder.file("openvm.toml"), "[app_vm_config.rv32i").expect("a file");
    fails(
        &[
            "run",
            &elf("sha256"),
            "--config",
            &folder.file("openvm.toml"),
        ],
        1,
        "configuration",
    );
    fs::create_dir_all(folder.file("empty")).expect("a folder");
    fails(&["run", &folder.file("empty")], 1, "not a guest");
}

#[test]
fn inputs_that_are_none() {
    let folder = Folder::new("inputs");
    let elf = elf("fibonacci");
    let bad = folder.file("input.json");
    for (contents, message) in [
        ("", "expected is"),
        ("{}", "missing field `input`"),
        ("{\"input\": [\"0x03\"]}", "value 0: a value begins with 01"),
        (
            "{\"input\": [\"0x01\", \"0x021\"]}",
            "value 1: not an even number",
        ),
        ("{\"input\": [\"0x0201\"]}", "words of 4 bytes"),
    ] {
        fs::write(&bad, contents).expect("a file");
        fails(&["run", &elf, "--input", &bad], 2, message);
    }
    fails(&["run", &elf, "--input", "no-such-file"], 2, "no such file");
    fails(&["run", &elf, "--max-instructions", "-1"], 2, "-1");
    fails(
        &["prove", "app", &elf, "--segment-max-memory", "much"],
        2,
        "not a number of bytes",
    );
    fails(&["prove", "app", &elf, "--agg-pk", "x"], 2, "--app-pk");
    let inside = folder.file("no-such-folder/proof");
    fails(
        &["prove", "app", &elf, "--toy", "--proof", &inside],
        1,
        "cannot write",
    );
    fails(
        &["prove", "app", &elf, "--toy", "--proof", &bad, "--vk", &bad],
        2,
        "same file",
    );
}

/// Keys, an executable, application proofs: made, damaged, and of something else.
#[test]
fn application_proofs_and_their_files() {
    let folder = Folder::new("app");
    let (program, input) = (elf("fibonacci"), guest("fibonacci", "input.json"));
    let (proof, vk) = (folder.file("proof"), folder.file("vk"));
    let prove = [
        "prove", "app", &program, "--input", &input, "--toy", "--device", "cpu",
    ];
    let report = json(&[&prove[..], &["--proof", &proof, "--vk", &vk, "--json"]].concat());
    assert_eq!(report["segments"], 1);
    assert!(report["host_memory_peak"].as_u64() > report["device_memory_peak"].as_u64());
    let said = succeeds(&["verify", "app", &proof, "--vk", &vk]);
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
        format!("{out}/{name}.commit.json")
    };
    let (own, other) = (commit("fibonacci"), commit("words"));
    succeeds(&["verify", "app", &proof, "--vk", &vk, "--commit", &own]);
    fails(
        &["verify", "app", &proof, "--vk", &vk, "--commit", &other],
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
        &["verify", "app", &proof, "--vk", &other_vk],
        1,
        "not accepted",
    );
    let other_pk = folder.file("keys/app.pk");
    fails(
        &[
            "prove", "app", &program, "--input", &input, "--app-pk", &other_pk,
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
                    &["verify", "app", &damaged, "--vk", &vk],
                    1,
                    "not usable as an application proof",
                ),
                "vk" => fails(
                    &["verify", "app", &proof, "--vk", &damaged],
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
fn aggregated_proofs_and_their_files() {
    let folder = Folder::new("stark");
    let (program, input) = (elf("sha256"), guest("sha256", "input.json"));
    let (proof, vk) = (folder.file("proof"), folder.file("vk"));
    let output = run(&[
        "prove", "stark", &program, "--input", &input, "--toy", "--device", "cpu", "--proof",
        &proof, "--vk", &vk,
    ]);
    let (said, progress) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{progress}");
    for part in [
        "memory image",
        "preflight",
        "traces",
        "upload",
        "aggregate",
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
    let said = succeeds(&["verify", "stark", &proof, "--vk", &vk]);
    let expected: Value = serde_json::from_str(
        &fs::read_to_string(guest("sha256", "expected.json")).expect("a file"),
    )
    .expect("JSON");
    assert!(
        said.contains(expected["public_values"].as_str().expect("hex")),
        "{said}"
    );

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
        "is no verifying key of a program",
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
fn proofs_go_on_from_proved_segments() {
    let folder = Folder::new("resume");
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

    // Another input is another job; a damaged proof is not used.
    refused(prove("0x0161", "third"));
    let segment = Path::new(&jobs).join("segment-0.proof");
    let mut bytes = fs::read(&segment).expect("a proof");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).expect("a file");
    refused(prove(&input, "third"));
    assert!(!Path::new(&folder.file("third")).exists());
}

#[test]
fn proofs_on_several_devices() {
    let folder = Folder::new("devices");
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

#[test]
fn executables() {
    let folder = Folder::new("vmexe");
    // A guest built elsewhere: its executable and its configuration in one folder.
    let copy = folder.file("fibonacci.elf");
    fs::copy(elf("fibonacci"), &copy).expect("a copy");
    fs::copy(
        guest("fibonacci", "openvm.toml"),
        folder.file("openvm.toml"),
    )
    .expect("a copy");
    let mut build = command(&["build", &copy, "--json"]);
    let output = build
        .current_dir(&folder.0)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let vmexe = folder.file("fibonacci.vmexe");
    let report = json(&[
        "run",
        &vmexe,
        "--input",
        &guest("fibonacci", "input.json"),
        "--json",
    ]);
    assert_eq!(report["program"], "fibonacci");

    let bytes = fs::read(&vmexe).expect("a file");
    let damaged = folder.file("damaged.vmexe");
    for length in [0, 10, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&damaged, &bytes[..length]).expect("a file");
        fails(&["run", &damaged], 1, "not usable as an executable");
    }
}

#[test]
fn new_guests() {
    let folder = Folder::new("init");
    let guest = folder.file("squares");
    let said = succeeds(&["init", &guest]);
    assert!(said.contains("prove stark"), "{said}");
    for file in [
        "Cargo.toml",
        "openvm.toml",
        "src/main.rs",
        "input.json",
        ".gitignore",
    ] {
        assert!(Path::new(&guest).join(file).is_file(), "{file}");
    }
    let manifest = fs::read_to_string(Path::new(&guest).join("Cargo.toml")).expect("a file");
    assert!(manifest.contains("name = \"squares\""), "{manifest}");
    fails(&["init", &guest], 1, "exists already");
    fails(
        &["init", &folder.file("9lives")],
        1,
        "is no name for a package",
    );
}

#[test]
fn guests_that_cannot_be_built() {
    let folder = guest("fibonacci", "");
    let output = command(&["build", &folder]).env("PATH", "").output();
    let output = output.expect("the binary runs");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("rustup does not run"), "{said}");

    let none = Folder::new("unbuildable");
    fs::write(
        none.file("Cargo.toml"),
        "[package]\nname = \"none\"\n[workspace]\n",
    )
    .expect("a file");
    fails(&["build", &none.file("")], 1, "not a guest");
    fs::write(none.file("openvm.toml"), "[app_vm_config]\nrv32i = 3\n").expect("a file");
    fails(&["build", &none.file("")], 1, "openvm.toml");
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_no_file() {
    use std::{process::Stdio, time::Duration};
    let folder = Folder::new("ctrl-c");
    let (elf, input) = (elf("json"), guest("json", "input.json"));
    let mut prove = command(&["prove", "stark", &elf, "--input", &input, "--device", "cpu"]);
    let child = prove
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
