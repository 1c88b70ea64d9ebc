//! The benchmark of whole executions.

use serde_json::Value;
use std::fs;

use crate::support::{command, elf, fails, guest, text, Folder};

/// Catches inputs and devices without figures, figures that no run had, and files of a benchmark.
#[test]
fn block_has_figures_of_every_input() {
    let folder = Folder::new();
    let (program, input) = (elf("fibonacci"), guest("fibonacci", "input.json"));
    let short = "0x010a00000000000000";
    let bench = ["bench", "block", &program, "--input", short, "--toy"];
    let output = command(
        &[
            &bench[..],
            &["--input", &input, "--devices", "cpu", "--no-cache"],
            &["--warmup", "0", "--runs", "1", "--json"],
        ]
        .concat(),
    )
    .current_dir(&folder.0)
    .output()
    .expect("the binary runs");
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("input.json (2 of 2): run 1 of 1"), "{said}");
    assert_eq!(fs::read_dir(&folder.0).expect("a folder").count(), 0);

    let report: Value = serde_json::from_str(&text(&output.stdout)).expect("JSON");
    assert_eq!(report["benchmark"], "block");
    assert_eq!(report["program"], "fibonacci");
    assert_eq!(report["warmup"], 0);
    assert!(report["device"]
        .as_str()
        .is_some_and(|name| name.starts_with("cpu")));
    assert!(report["security_bits"].as_f64() < Some(80.0));
    let cases = report["cases"].as_array().expect("a list");
    let names: Vec<_> = cases
        .iter()
        .filter_map(|case| case["name"].as_str())
        .collect();
    assert_eq!(names, [short, input.as_str()]);
    assert!(cases[0]["instructions"].as_u64() < cases[1]["instructions"].as_u64());
    for case in cases {
        for name in [
            "instructions",
            "cells",
            "segments",
            "nodes",
            "wall_seconds",
            "million_instructions_per_second",
            "device_memory_peak",
            "host_memory_peak",
            "proof_bytes",
        ] {
            assert!(case[name].as_f64() > Some(0.0), "{name}: {case}");
        }
        let stages = &case["stages"];
        for name in ["execution", "preflight", "traces", "prove", "aggregation"] {
            assert!(stages[name].as_f64() > Some(0.0), "{name}: {case}");
        }
        assert!(stages["upload"].is_number(), "{case}");
        assert_eq!(case["runs_seconds"][0], case["wall_seconds"]);
        assert_eq!(case["devices"][0]["name"], "cpu");
        assert!(case["devices"][0]["idle"].is_number(), "{case}");
        assert!(case.get("joules").is_none(), "{case}");
    }
}

#[test]
fn block_refuses_what_cannot_be_measured() {
    let folder = Folder::new();
    let (program, missing) = (elf("fibonacci"), folder.file("missing"));
    let input = guest("fibonacci", "input.json");
    let refused = |args: &[&str], message: &str| {
        fails(&[&["bench", "block"], args].concat(), 2, message);
    };
    refused(&[&missing, "--input", &input], "no such program");
    refused(&[&program, "--input", &missing], "no such file");
    refused(&[&program], "--input");
    refused(&[&program, "--input", &input, "--runs", "0"], "--runs");
    refused(
        &[
            &program,
            "--input",
            &input,
            "--devices",
            "cpu",
            "--device",
            "cpu",
        ],
        "cannot be used with",
    );
}
