//! Running programs, and what cannot be run.

use serde_json::Value;
use std::fs;

use crate::support::{elf, fails, guest, json, Folder};

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
    fails(&["run", &fibonacci], 1, "hint: --input");
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
        "not usable as the ELF of a guest",
    );
    fails(
        &["run", env!("CARGO_BIN_EXE_openvm-metal")],
        1,
        "not usable as the ELF of a guest",
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
    let huge = fs::File::create(folder.file("huge")).expect("a file");
    huge.set_len((1 << 29) + 1).expect("a sparse file");
    let (huge, more) = (folder.file("huge"), "more than 536870912 bytes");
    fails(&["run", &elf, "--input", &huge], 1, more);
    fails(&["run", &elf, "--max-instructions", "-1"], 2, "-1");
    fails(&["run", &elf, "--max-instructions", "0"], 2, "0");
    fails(&["run", &elf, "--locked"], 2, "the program is a file");
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
