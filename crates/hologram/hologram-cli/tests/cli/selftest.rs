//! The self test.

use std::process::Command;

use crate::support::{fails, hologram, succeeds, text, Folder};

#[test]
fn sections_pass_on_the_processor() {
    let out = succeeds(&[
        "selftest",
        "--device",
        "cpu",
        "--only",
        "operations",
        "--only",
        "programs",
        "--programs",
        "30",
    ]);
    // Elementwise operations and reductions of 12 types, three families of 4; two batches of programs.
    assert!(out.contains("operations    36 passed, 0 failed"), "{out}");
    assert!(out.contains("programs      2 passed, 0 failed"), "{out}");
    assert!(out.contains("38 passed, 0 failed, 0 skipped"), "{out}");
    assert!(!out.contains("instructions"), "{out}");
}

/// The processor as an Apple GPU: what differs there is tolerated, and named.
#[test]
fn sections_pass_as_on_an_apple_gpu() {
    let output = Command::new(env!("CARGO_BIN_EXE_hologram"))
        .args(["selftest", "--device", "cpu", "--only", "kernels"])
        .args(["--only", "operations", "--only", "programs"])
        .args(["--programs", "50"])
        .env("OPENVM_METAL_DEVICE_PROFILE", "m1-8gb")
        .output()
        .expect("the binary runs");
    let out = text(&output.stdout);
    assert!(output.status.success(), "{out}{}", text(&output.stderr));
    // As on the processor, without `f64`.
    assert!(out.contains("operations    31 passed, 0 failed"), "{out}");
    assert!(out.contains("programs      2 passed, 0 failed"), "{out}");
    assert!(out.contains("0 failed, 0 skipped"), "{out}");
}

#[test]
fn the_report_is_json() {
    let args = [
        "selftest",
        "--device",
        "cpu-conformance",
        "--only",
        "programs",
        "--programs",
        "3",
        "--seed",
        "7",
        "--json",
    ];
    let report: serde_json::Value = serde_json::from_str(&succeeds(&args)).expect("JSON");
    assert_eq!(report["seed"], 7);
    assert_eq!(report["items"][0]["section"], "programs");
    assert_eq!(report["items"][0]["item"], "seeds 7 to 9");
    assert_eq!(report["items"][0]["outcome"], "passed");
    assert!(report["items"][0]["details"]
        .as_str()
        .expect("words")
        .contains("kernels"));
    assert!(report["device"]["name"].is_string(), "{report}");
}

#[test]
fn the_list_names_every_item() {
    let out = succeeds(&["selftest", "--device", "cpu", "--list"]);
    for part in [
        "instructions/compile all together\n",
        "operations/gemm bf16\n",
        "programs/seeds 275 to 299\n",
    ] {
        assert!(out.contains(part), "{part} is not in {out}");
    }
}

/// Without a compiler programs cannot become kernels: that is said, and is no failure.
#[test]
fn no_compiler_skips_programs() {
    let folder = Folder::new();
    let output = Command::new(env!("CARGO_BIN_EXE_hologram"))
        .args([
            "selftest",
            "--device",
            "cpu",
            "--only",
            "programs",
            "--programs",
            "1",
        ])
        .env("OPENVM_METAL_CXX", "hologram-no-such-compiler")
        .env("HOLOGRAM_CACHE", folder.path("cache"))
        .output()
        .expect("the binary runs");
    let out = text(&output.stdout);
    assert!(output.status.success(), "{out}{}", text(&output.stderr));
    assert!(out.contains("1 skipped: "), "{out}");
}

#[test]
fn wrong_arguments_are_named() {
    fails(&["selftest", "--device", "abacus"], 2, "abacus");
    fails(&["selftest", "--only", "everything"], 2, "everything");
    fails(&["selftest", "--programs", "-1"], 2, "-1");
    fails(&["selftest", "--device", "cuda:77"], 1, "cuda");
    let output = hologram(&["selftest", "--help"]);
    assert!(text(&output.stdout).contains("--programs"));
}

#[test]
fn events_begin_where_another_process_ended() {
    let args = [
        "selftest",
        "--device",
        "cpu",
        "--only",
        "kernels",
        "--only",
        "programs",
        "--programs",
        "26",
        "--events",
    ];
    let events = |from: &str| -> Vec<serde_json::Value> {
        let out = succeeds(&[&args[..], &["--from", from]].concat());
        let lines = out
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        lines.collect()
    };
    let items = |events: &[serde_json::Value]| -> Vec<String> {
        let names = events.iter().filter_map(|event| event["item"].as_str());
        names.map(str::to_owned).collect()
    };
    let all = events("0");
    let names = items(&all);
    assert!(names[0].starts_with("kernels/hologram_"), "{names:?}");
    assert_eq!(names[names.len() - 1], "programs/seeds 25 to 25");
    let ends: Vec<_> = all.iter().filter(|event| event["event"] == "end").collect();
    assert!(
        ends.iter().all(|end| end["outcome"] == "passed"),
        "{ends:?}"
    );
    assert_eq!(ends.len(), names.len());
    assert_eq!(all[all.len() - 1]["event"], "done");
    let last = (names.len() - 1).to_string();
    assert_eq!(items(&events(&last)), names[names.len() - 1..]);
    fails(&["selftest", "--from", "1"], 2, "--events");
}

#[test]
fn sources_for_apples_compiler_are_written() {
    let folder = Folder::new();
    let sources = folder.path("sources");
    let out = succeeds(&["kernels", "--write", &sources, "--programs", "3"]);
    let under = |name: &str| {
        let entries = std::fs::read_dir(std::path::Path::new(&sources).join(name));
        entries.expect("a folder").count()
    };
    assert!(out.contains(" files in "), "{out}");
    assert_eq!(under("programs"), 3);
    assert!(under("hologram_kernels") > 1);
    fails(&["kernels", "--programs", "3"], 2, "--write");
}
