//! The command as a user runs it: output that can be parsed, clear errors, exit statuses.

use std::process::{Command, Output};

use serde_json::Value;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_openvm-metal"))
        .args(args)
        .env_remove("OPENVM_METAL_DEVICE")
        .output()
        .expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a command that must fail with `status`, naming `text`, without a panic.
fn fails(args: &[&str], status: i32, text: &str) {
    let output = run(args);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {message}");
    assert!(message.contains(text), "{args:?}: {message}");
    assert!(!message.contains("panicked"), "{args:?}: {message}");
}

#[test]
fn devices_as_json_name_every_kind() {
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
fn devices_as_table() {
    let output = run(&["devices"]);
    assert!(output.status.success());
    assert!(stdout(&output).contains("cpu"));
}

#[test]
fn selftest_of_one_kernel() {
    let output = run(&[
        "selftest",
        "--device",
        "cpu",
        "--filter",
        "poly/fold",
        "--json",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(report["passed"], 1);
    assert_eq!(report["failed"], 0);
    assert_eq!(report["device"]["kind"], "cpu");
    assert_eq!(report["checks"][0]["check"], "poly/fold");
}

#[test]
fn selftest_lists_checks() {
    let output = run(&["selftest", "--list"]);
    assert!(output.status.success());
    assert!(stdout(&output)
        .lines()
        .any(|line| line == "grind/smallest_witness"));
}

#[test]
fn bench_of_one_kernel() {
    let args = [
        "bench",
        "kernels",
        "--device",
        "cpu",
        "--filter",
        "poly/fold",
        "--log-size",
        "12",
        "--json",
    ];
    let output = run(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(report["kernels"][0]["kernel"], "poly/fold");
    assert!(report["kernels"][0]["error"].is_null());
    assert!(report["kernels"][0]["seconds"].as_f64() > Some(0.0));
    assert!(report["roof"]["bytes_per_second"].as_f64() > Some(0.0));
}

#[test]
fn bad_requests_are_refused_clearly() {
    fails(&["selftest", "--device", "gpu"], 2, "unknown device 'gpu'");
    fails(
        &["selftest", "--filter", "no-such-check"],
        2,
        "no check matches 'no-such-check'",
    );
    fails(
        &["bench", "kernels", "--filter", "nothing"],
        2,
        "no kernel matches",
    );
    fails(&["bench", "kernels", "--log-size", "99"], 2, "99");
    fails(&["bench", "kernels", "--log-size", "-3"], 2, "-3");
    fails(&["nonsense"], 2, "nonsense");
    fails(&["selftest", "--jsn"], 2, "--jsn");
}

#[test]
fn unavailable_device_is_no_silent_fallback() {
    if cfg!(target_vendor = "apple") {
        return;
    }
    fails(&["selftest", "--device", "metal"], 1, "not available");
}

#[test]
fn device_of_the_environment_is_checked() {
    let output = Command::new(env!("CARGO_BIN_EXE_openvm-metal"))
        .args(["selftest", "--filter", "poly/fold"])
        .env("OPENVM_METAL_DEVICE", "toaster")
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("toaster"));
}
