//! Costs of programs: profile, flame graph and pprof of a guest whose functions are known, and where guests fail.

use std::{collections::BTreeMap, fs, path::Path};

use quick_xml::{events::Event, Reader};
use serde_json::Value;

use crate::support::{command, elf, fails, guest, json, run, text, Folder};

/// The guest of `openvm-metal-profile/tests/data`, with symbols and line tables.
fn costs() -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openvm-metal-profile/tests/data");
    data.join("costs.elf").display().to_string()
}

/// 1000 rounds of `products`.
const INPUT: &str = "0x01e8030000";

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

fn read_json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

/// Own costs of all functions, and the remainder, are everything: instructions as counted, cells as metered.
fn adds_up(profile: &Value, metered: &Value) {
    let sum = |list: &Value, of: &dyn Fn(&Value) -> u64| -> u64 {
        list.as_array().expect("a list").iter().map(of).sum()
    };
    assert_eq!(profile["instructions"], metered["instructions"]);
    assert_eq!(profile["cells"], metered["cells"]);
    let attributed = &profile["attributed"];
    for part in ["instructions", "cells", "messages"] {
        let own = sum(&profile["functions"], &|f| number(&f["own"][part]));
        assert_eq!(own, number(&attributed[part]), "{part}");
    }
    let remainder = &profile["remainder"];
    let parts = ["tables", "registers", "padding"].map(|part| number(&remainder[part]));
    let all = parts.iter().sum::<u64>() + number(&attributed["cells"]);
    assert_eq!(all, number(&profile["cells"]), "{remainder}");
    let chips = sum(&profile["chips"], &|chip| number(&chip["cells"]));
    assert_eq!(chips, number(&profile["cells"]));
}

fn function<'a>(profile: &'a Value, name: &str) -> &'a Value {
    let functions = profile["functions"].as_array().expect("a list");
    let found = functions.iter().find(|f| f["function"] == name);
    found.unwrap_or_else(|| panic!("{name} in {functions:#?}"))
}

/// Costs that go to another function, are counted twice in a recursion, or miss inlined functions.
#[test]
fn profile_matches_known_costs() {
    let folder = Folder::new();
    let files = ["p.json", "p.txt", "f.svg", "p.pb"].map(|name| folder.file(name));
    let program = costs();
    let args = [
        "run", &program, "--input", INPUT, "--toy", "--device", "cpu", "--json",
    ];
    let metered = json(&[&args[..], &["--mode", "meter"]].concat());
    let with = [
        "--profile",
        &files[0],
        "--flamegraph",
        &files[2],
        "--pprof",
        &files[3],
    ];
    let report = json(&[&args[..], &with].concat());
    for same in ["public_values", "instructions", "cells"] {
        assert_eq!(report[same], metered[same]);
    }

    let profile = read_json(&files[0]);
    adds_up(&profile, &metered);
    assert_eq!(profile["has_lines"], true);
    assert!(profile["named_share"].as_f64().expect("a share") > 0.95);
    assert!(profile["proving_seconds"].as_f64().expect("seconds") > 0.0);
    let own = |name: &str| number(&function(&profile, name)["own"]["instructions"]);
    let total = |name: &str| number(&function(&profile, name)["total"]["instructions"]);
    // Two calls with 1000 and 10 rounds of 3 instructions, and less than 10 around each loop.
    assert!(
        (3030..3050).contains(&own("costs::products")),
        "{}",
        own("costs::products")
    );
    // An inlined loop of 2000 rounds counts for itself, and for its caller in total.
    assert!(
        (6000..6010).contains(&own("costs::added")),
        "{}",
        own("costs::added")
    );
    assert!(own("costs::sums") < 10);
    assert!((6000..6020).contains(&total("costs::sums")));
    // 21 levels of a recursion, which count once each in total: with 10 rounds of `products`, and inlined additions and black boxes.
    let (own_depth, depth) = (own("costs::depth"), total("costs::depth"));
    assert!(
        (own_depth + 90..own_depth + 150).contains(&depth),
        "{own_depth} {depth}"
    );
    // Everything is below the entry.
    let all = number(&profile["instructions"]);
    assert!(total("costs::main") <= all && total("costs::main") > all * 9 / 10);
    let lines = profile["lines"].as_array().expect("a list");
    let of_products = lines
        .iter()
        .filter(|line| line["function"] == "costs::products");
    let most = of_products
        .map(|line| number(&line["own"]["instructions"]))
        .max();
    assert!(most >= Some(3000), "{most:?}");

    let text_args = [&args[..], &["--profile", &files[1]]].concat();
    json(&text_args);
    let table = fs::read_to_string(&files[1]).expect("a file");
    for part in [
        "FUNCTIONS",
        "LINES",
        "CHIPS",
        "costs::products",
        "src/main.rs:",
    ] {
        assert!(table.contains(part), "{part} in {table}");
    }

    let titles = titles(&fs::read_to_string(&files[2]).expect("a file"));
    for part in ["costs::products (", "costs::added (", "costs::depth ("] {
        assert!(titles.iter().any(|title| title.starts_with(part)), "{part}");
    }
    let sums = samples(&fs::read(&files[3]).expect("a file"));
    assert_eq!(sums["instructions"], number(&report["instructions"]));
    assert_eq!(sums["cells"], number(&profile["attributed"]["cells"]));
}

/// Segments divide pages of memory anew: an account that forgets pages at a cut, or counts them twice, does not add up.
#[test]
fn profile_sums_over_segments() {
    let folder = Folder::new();
    let out = folder.file("p.json");
    let (program, input) = (elf("json"), guest("json", "input.json"));
    let args = [
        "run",
        &program,
        "--input",
        &input,
        "--toy",
        "--device",
        "cpu",
        "--segment-max-memory",
        "300M",
        "--json",
    ];
    let metered = json(&[&args[..], &["--mode", "segment"]].concat());
    assert!(
        metered["segments"].as_array().expect("a list").len() > 1,
        "{metered}"
    );
    json(&[&args[..], &["--profile", &out]].concat());
    let profile = read_json(&out);
    adds_up(&profile, &metered);
    // The ELF is stripped: its functions are addresses.
    assert_eq!(profile["named_share"], 0.0);
    let first = &profile["functions"][0];
    assert_eq!(first["is_named"], false);
    assert!(first["function"]
        .as_str()
        .is_some_and(|name| name.starts_with("0x")));
    let output = run(&[&args[..], &["--profile", &out]].concat());
    assert!(
        text(&output.stderr).contains("no symbols"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn profile_files_are_checked_before_work() {
    let folder = Folder::new();
    let program = costs();
    let start = ["run", &program, "--input", INPUT, "--device", "cpu"];
    let fails =
        |args: &[&str], status, message| fails(&[&start[..], args].concat(), status, message);
    let nowhere = folder.file("missing/p.json");
    for option in ["--profile", "--flamegraph", "--pprof"] {
        fails(&[option, &nowhere], 1, "there is no folder");
        fails(&[option, &program], 2, "the same file");
    }
    fails(&["--profile", "release"], 2, "--cargo-profile");
    let out = folder.file("p.txt");
    let other = elf("fibonacci");
    fails(
        &["--profile", &out, "--elf", &other],
        2,
        "not made of this ELF",
    );
    fails(&["--profile", &out, "--elf", &nowhere], 1, "missing/p.json");
    assert!(!Path::new(&out).exists());
}

/// An executable finds names and lines in the ELF that it was made of, whether it lies beside it or is given.
#[test]
fn executable_finds_symbols() {
    let folder = Folder::new();
    let (own, exe) = (folder.file("costs.elf"), folder.file("costs.vmexe"));
    fs::copy(costs(), &own).expect("a copy");
    let output = command(&["build", &own]).current_dir(&folder.0).output();
    let output = output.expect("the binary runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let run = ["run", &exe, "--device", "cpu"];
    fails(&run, 1, "/guest/src/main.rs:");
    // Another program's ELF of that name is not taken.
    fs::copy(elf("fibonacci"), &own).expect("a copy");
    let output = crate::support::run(&run);
    assert!(
        !text(&output.stderr).contains("main.rs"),
        "{}",
        text(&output.stderr)
    );
    let out = folder.file("p.json");
    let start = [&run[..], &["--input", INPUT, "--toy", "--profile", &out]].concat();
    json(&[&start[..], &["--elf", &costs(), "--json"]].concat());
    let profile = read_json(&out);
    assert!(profile["named_share"].as_f64().expect("a share") > 0.95);
}

/// A failure names function and line, and `--debug` shows how the guest came there.
#[test]
fn debug_shows_the_failing_instruction() {
    let program = costs();
    for mode in ["pure", "meter"] {
        fails(
            &["run", &program, "--mode", mode, "--device", "cpu", "--toy"],
            1,
            "/guest/src/main.rs:",
        );
    }
    let output = run(&["run", &program, "--debug", "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout);
    let marked: Vec<_> = shown
        .lines()
        .filter(|line| line.starts_with("> 0x"))
        .collect();
    assert_eq!(marked.len(), 1, "{shown}");
    assert!(
        shown
            .lines()
            .filter(|line| line.starts_with("  0x"))
            .count()
            >= 2,
        "{shown}"
    );
    for part in ["sp 0x", "after ", "src/main.rs:"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let output = run(&["run", &program, "--debug", "--json", "--device", "cpu"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["registers"].as_array().map(Vec::len), Some(32));
    assert!(report["error"]
        .as_str()
        .is_some_and(|error| error.contains("past its input")));
    // A guest that ends well.
    let output = run(&[
        "run", &program, "--input", INPUT, "--debug", "--device", "cpu",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("ended with exit code 0"));
}

/// The constraint check of an execution, whose file no verifier takes.
#[test]
fn dev_result_is_no_proof() {
    let folder = Folder::new();
    let out = folder.file("out.json");
    let program = costs();
    let args = [
        "prove", "app", &program, "--input", INPUT, "--dev", "--device", "cpu", "--proof", &out,
        "--json",
    ];
    let report = json(&args);
    assert_eq!(report["segments"], 1);
    assert_eq!(read_json(&out), report);
    for kind in ["app", "stark"] {
        let refused = ["verify", kind, &out, "--vk", &program, "--trust-vk"];
        fails(&refused, 1, "which is no proof");
    }
    fails(
        &[
            "prove",
            "stark",
            &program,
            "--dev",
            "--proof",
            &folder.file("no/out.json"),
        ],
        1,
        "there is no folder",
    );
}

/// The texts of all `title` elements of a document that is well-formed.
fn titles(svg: &str) -> Vec<String> {
    let mut reader = Reader::from_str(svg);
    let mut open: Vec<Vec<u8>> = Vec::new();
    let mut titles = Vec::new();
    loop {
        match reader.read_event().expect("XML") {
            Event::Start(tag) => open.push(tag.name().as_ref().to_vec()),
            Event::End(tag) => assert_eq!(open.pop().as_deref(), Some(tag.name().as_ref())),
            Event::Text(text) if open.last().is_some_and(|tag| tag == b"title") => {
                titles.push(String::from_utf8_lossy(&text).into_owned());
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(open.is_empty());
    titles
}

/// A field of a message: number, and varint or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = bytes.split_first().expect("a byte");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = varint(&mut bytes);
        match key & 7 {
            0 => fields.push((key >> 3, value, &[][..])),
            2 => {
                let (part, rest) = bytes.split_at(value as usize);
                bytes = rest;
                fields.push((key >> 3, 0, part));
            }
            kind => panic!("wire type {kind}"),
        }
    }
    fields
}

/// Sums of all samples by the names of their types. Checks that samples, locations and functions refer to what is there.
fn samples(pprof: &[u8]) -> BTreeMap<String, u64> {
    let profile = fields(pprof);
    let all = |number| profile.iter().filter(move |field| field.0 == number);
    let strings: Vec<_> = all(6).map(|field| text(field.2)).collect();
    assert_eq!(strings[0], "");
    let id = |part: &[u8]| {
        fields(part)
            .iter()
            .find(|field| field.0 == 1)
            .map(|field| field.1)
    };
    let functions: Vec<_> = all(5).filter_map(|field| id(field.2)).collect();
    let locations: Vec<_> = all(4).filter_map(|field| id(field.2)).collect();
    for location in all(4) {
        for line in fields(location.2).iter().filter(|field| field.0 == 4) {
            assert!(functions.contains(&id(line.2).expect("a function")));
        }
    }
    let kinds: Vec<_> = all(1)
        .map(|kind| strings[id(kind.2).expect("a name") as usize].clone())
        .collect();
    assert_eq!(kinds, ["instructions", "cells", "time"]);
    let numbers = |bytes: &[u8]| {
        let mut numbers = Vec::new();
        let mut value = (0, 0);
        for byte in bytes {
            value = (value.0 | u64::from(byte & 0x7f) << value.1, value.1 + 7);
            if byte & 0x80 == 0 {
                numbers.push(std::mem::take(&mut value).0);
            }
        }
        numbers
    };
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for sample in all(2) {
        let parts = fields(sample.2);
        let part = |number| {
            parts
                .iter()
                .find(|field| field.0 == number)
                .map(|field| numbers(field.2))
        };
        let stack = part(1).expect("locations");
        assert!(!stack.is_empty() && stack.iter().all(|id| locations.contains(id)));
        for (kind, value) in kinds.iter().zip(part(2).expect("values")) {
            *sums.entry(kind.clone()).or_default() += value;
        }
    }
    sums
}
