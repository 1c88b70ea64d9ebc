//! Devices, their self test and the times of kernels.

use serde_json::Value;
use std::process::Command;

use crate::support::{fails, run, stderr, stdout};

#[test]
fn devices_json_names_every_kind() {
    let output = run(&["devices", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let kinds: Vec<_> = report["devices"].as_array().expect("list").iter().collect();
    for kind in ["metal", "cuda", "cpu"] {
        let device = kinds.iter().find(|d| d["kind"] == kind).expect(kind);
        assert_ne!(
            device["info"].is_null(),
            device["missing"].is_null(),
            "{device}"
        );
    }
    assert!(report["build"]["kernels"].as_u64() > Some(0));
}

#[test]
fn devices_table() {
    let output = run(&["devices"]);
    assert!(output.status.success());
    let text = stdout(&output);
    for part in ["cpu", "working set", "threadgroups of at most", "Metal: "] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn selftest_filter() {
    let output = run(&[
        "selftest",
        "--device",
        "cpu",
        "--filter",
        "ntt/transpose",
        "--json",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(report["passed"], 1);
    assert_eq!(report["failed"], 0);
    assert_eq!(report["device"]["kind"], "cpu");
    assert_eq!(report["checks"][0]["check"], "ntt/transpose");
}

#[test]
fn device_option_before_or_after_the_command() {
    let check = ["selftest", "--filter", "ntt/transpose"];
    for (before, after) in [
        (Some("cpu"), None),
        (None, Some("cpu")),
        (Some("cpu"), Some("cpu")),
    ] {
        let option = |device: Option<&'static str>| device.map(|name| ["--device", name]);
        let args: Vec<&str> = option(before)
            .into_iter()
            .flatten()
            .chain(check)
            .chain(option(after).into_iter().flatten())
            .collect();
        let output = run(&args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        let text = stdout(&output);
        assert!(text.contains("(cpu; "), "{args:?}: {text}");
        let last = text.lines().last().unwrap_or_default();
        assert!(last.starts_with("next: "), "{args:?}: {text}");
    }
    let two = [
        &["--device", "cpu-conformance"],
        &check[..],
        &["--device", "cpu"],
    ]
    .concat();
    let text = stdout(&run(&two));
    assert!(text.contains("(cpu; "), "the last one counts: {text}");
    fails(&["--device", "cpu", "devices"], 2, "uses no device");
    fails(&["--device", "abacus", "selftest"], 2, "abacus");
}

#[test]
fn selftest_list() {
    let output = run(&["selftest", "--list"]);
    assert!(output.status.success());
    assert!(stdout(&output)
        .lines()
        .any(|line| line == "grind/smallest_witness"));
}

#[test]
fn bad_options_are_refused() {
    fails(&["selftest", "--device", "gpu"], 2, "unknown device 'gpu'");
    fails(
        &["selftest", "--filter", "no-such-check"],
        2,
        "no check matches 'no-such-check'",
    );
    fails(&["nonsense"], 2, "nonsense");
    fails(&["selftest", "--jsn"], 2, "--jsn");
}

#[test]
fn unavailable_device_has_no_fallback() {
    if cfg!(target_vendor = "apple") {
        return;
    }
    fails(&["selftest", "--device", "metal"], 1, "not available");
    fails(
        &["circuit", "keccakf", "--device", "metal"],
        1,
        "hint: `openvm-metal devices`",
    );
}

#[test]
fn device_of_the_environment_is_checked() {
    for args in [&["selftest", "--filter", "ntt/transpose"][..], &["devices"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_openvm-metal"))
            .args(args)
            .env("OPENVM_METAL_DEVICE", "toaster")
            .output()
            .expect("the binary runs");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains("toaster"), "{args:?}");
    }
}
