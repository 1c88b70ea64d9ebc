//! Running programs, and what cannot be run.

use serde_json::Value;
use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::support::{elf, fails, guest, json, run, succeeds, text, Folder};

#[test]
fn run_modes() {
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
fn file_bytes_as_input() {
    let folder = Folder::new();
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
fn failing_guests_are_explained() {
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
    let folder = Folder::new();
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
fn invalid_programs_are_refused() {
    let folder = Folder::new();
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
        2,
        "configuration",
    );
    fs::create_dir_all(folder.file("empty")).expect("a folder");
    fails(&["run", &folder.file("empty")], 1, "not a guest");
}

#[test]
fn invalid_inputs_are_refused() {
    let folder = Folder::new();
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
        (
            "{\"input\": [\n{\"struct { a: u8 }\": {\"a\": 1, \"a\": 2}}]}",
            "the key \"a\" is there twice at line 2 column 33",
        ),
        (
            "{\"input\": [\"01\", {\"BTreeMap<u8, u8>\": [[1, 1], [1, 2]]}]}",
            "value 1: the keys of elements 0 and 1 are the same",
        ),
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

/// The configuration that `build` stored with an executable is taken, and one beside it; without one the files that were looked at
/// are named. Errors name the configuration's own file, and no result is written over it.
#[test]
fn configuration_lookup() {
    let folder = Folder::new();
    let program = folder.file("sha256.elf");
    fs::copy(elf("sha256"), &program).expect("a copy");
    let input = guest("sha256", "input.json");
    let run_it = ["run", &program, "--input", &input];
    for place in ["sha256.openvm.toml", "openvm.toml"] {
        let place = folder.file(place);
        fails(&run_it, 1, "extension `sha2`");
        fails(&run_it, 1, &place);
        fs::copy(guest("sha256", "openvm.toml"), &place).expect("a copy");
        succeeds(&run_it);
        let over = [&run_it[..], &["--profile", &place]].concat();
        fails(
            &over,
            2,
            "the configuration and --profile are the same file",
        );
        fs::remove_file(&place).expect("removed");
    }
    // One that everybody may write, and one of another user, are taken only by name.
    let place = folder.file("openvm.toml");
    fs::copy(guest("sha256", "openvm.toml"), &place).expect("a copy");
    let mode = |mode| fs::set_permissions(&place, fs::Permissions::from_mode(mode));
    mode(0o666).expect("a mode");
    fails(&run_it, 2, "everybody may write it (mode 0666)");
    succeeds(&[&run_it[..], &["--config", &place]].concat());
    mode(0o644).expect("a mode");
    succeeds(&run_it);
    // Only root can give a file away.
    if std::os::unix::fs::chown(&place, Some(65_534), None).is_ok() {
        fails(&run_it, 2, "it belongs to user 65534");
        std::os::unix::fs::chown(&program, Some(65_534), None).expect("the program, too");
        succeeds(&run_it);
    }
    let riscv = "[app_vm_config.rv32i]\n[app_vm_config.rv32m]\n[app_vm_config.io]\n";
    let config = folder.file("other.toml");
    let (fibonacci, input) = (elf("fibonacci"), guest("fibonacci", "input.json"));
    let run_it = [
        "run", &fibonacci, "--input", &input, "--config", &config, "--json",
    ];
    let write = |more: &str| fs::write(&config, format!("{riscv}{more}")).expect("a file");
    write("[app_vm_config.system.config]\nnum_public_values = 64\n");
    let values = json(&run_it)["public_values"].as_str().map(str::len);
    assert_eq!(values, Some("0x".len() + 2 * 64));
    for (more, message) in [
        (
            "[app_vm_config.system.config]\nnum_public_values = 96\n",
            "num_public_values is 96",
        ),
        (
            "[app_vm_config.keccack]\n",
            "app_vm_config.keccack is not known",
        ),
        (
            "[app_vm_config.modular]\nsupported_moduli = [\"4\"]\n",
            "modular.supported_moduli: 4 is no odd prime",
        ),
    ] {
        write(more);
        fails(&run_it, 2, &format!("{config}: {message}"));
    }
}

/// A bound means the same in each mode and in a proof: all instructions count, the one that ends the program too.
#[test]
fn instruction_bound_stops_the_guest() {
    let (elf, input) = (elf("fibonacci"), guest("fibonacci", "input.json"));
    let program = [&elf, "--input", &input, "--toy", "--device", "cpu"];
    let meter = [&["run", "--json", "--mode", "meter"], &program[..]].concat();
    let all = json(&meter)["instructions"].as_u64().expect("a number");
    for (bound, ends) in [(1, false), (all - 1, false), (all, true), (all + 1, true)] {
        let bound = bound.to_string();
        for command in [
            &["run", "--mode", "pure"][..],
            &["run", "--mode", "meter"],
            &["prove", "app"],
        ] {
            let bound = ["--max-instructions", &bound];
            let args = [command, &program[..], &bound[..]].concat();
            match ends {
                false => fails(&args, 1, "did not end within"),
                true if command[0] == "run" => drop(succeeds(&args)),
                true => {}
            }
        }
    }
}

/// Input that a program does not read is reported: it was given the wrong input, most likely.
#[test]
fn unread_input_warns() {
    let folder = Folder::new();
    let program = elf("fibonacci");
    let input = folder.file("input.json");
    for (values, warning) in [
        (r#"["0x01e803000000000000"]"#, None),
        (
            r#"["0x01e80300000000000001"]"#,
            Some("did not read the last 1 byte of value 0"),
        ),
        (
            r#"["0x01e803000000000000", "0x0101", "0x01"]"#,
            Some("did not ask for the last 2 of the 3 values of its input (1 byte)"),
        ),
    ] {
        fs::write(&input, format!(r#"{{"input": {values}}}"#)).expect("a file");
        for mode in ["pure", "meter"] {
            let args = [
                "run", &program, "--input", &input, "--mode", mode, "--toy", "--json",
            ];
            let output = run(&args);
            let said = text(&output.stderr);
            assert!(output.status.success(), "{said}");
            assert_eq!(
                said.contains("warning"),
                warning.is_some(),
                "{mode}: {said}"
            );
            assert!(said.contains(warning.unwrap_or_default()), "{mode}: {said}");
        }
    }
}
