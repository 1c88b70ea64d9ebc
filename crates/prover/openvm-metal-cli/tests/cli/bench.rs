//! Benchmarks, and the page that `tools/bench-page` draws from their results.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

use crate::folder::Folder;
use crate::support::{fails, run, stderr, stdout};

/// JSON of a benchmark on the CPU.
fn bench(args: &[&str]) -> String {
    let output = run(&[&["bench"], args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

fn kernel() -> String {
    let args = ["kernels", "--filter", "ntt/transpose", "--log-size", "12"];
    bench(&[&args[..], &["--device", "cpu"]].concat())
}

#[test]
fn kernels_by_filter() {
    let report: Value = serde_json::from_str(&kernel()).expect("JSON");
    assert_eq!(report["kernels"][0]["kernel"], "ntt/transpose");
    assert!(report["kernels"][0]["error"].is_null());
    assert!(report["kernels"][0]["seconds"].as_f64() > Some(0.0));
    assert!(report["roof"]["bytes_per_second"].as_f64() > Some(0.0));
    let nothing = ["bench", "kernels", "--filter", "nothing"];
    fails(&nothing, 2, "no kernel matches");
    fails(&["bench", "kernels", "--log-size", "99"], 2, "99");
    fails(&["bench", "kernels", "--log-size", "-3"], 2, "-3");
}

/// Catches names in the JSON that the page does not know any more.
#[test]
fn page_and_ratios_of_results() {
    let folder = Folder::new();
    let proofs = |engine| {
        let args = [
            "keccakf",
            "--log-sizes",
            "0",
            "--log-stacked",
            "14",
            "--runs",
            "2",
        ];
        bench(&[&args[..], &["--warmup", "0", "--engine", engine]].concat())
    };
    let files = ["kernels", "ours", "theirs", "other"].map(|name| folder.file(name));
    let results = [kernel(), proofs("metal"), proofs("cpu"), "{}".into()];
    for (file, result) in files.iter().zip(results) {
        std::fs::write(file, result).expect("a file");
    }
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/bench-page");
    let draw = |args: &[&str]| -> Output {
        let mut command = Command::new("python3");
        command.arg(&tool).args(args).output().expect("python3")
    };
    let out = folder.file("page.html");
    let output = draw(&["--out", &out, &files[0], &files[1], &files[2]]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(&out).expect("a page");
    // A roofline, the phases of both engines, and stages and memory of the engine that counts them.
    assert_eq!(page.matches("<svg").count(), 4, "{page}");
    for part in ["ntt/transpose", "prover.openings", "metal", "cpu"] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let output = draw(&["--compare", "--spans", &files[1], &files[2]]);
    let text = stdout(&output);
    assert!(output.status.success() && text.contains("2^0"), "{text}");
    let output = draw(&["--out", &out, &files[3]]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("not a valid result of a benchmark"));
}
