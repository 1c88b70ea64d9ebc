//! Benchmarks of kernels and of proofs, as JSON.

use serde_json::Value;

use crate::support::{fails, run, stderr, stdout};

/// JSON of a benchmark.
fn bench(args: &[&str]) -> Value {
    let output = run(&[&["bench"], args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

#[test]
fn kernels_by_filter() {
    let args = ["kernels", "--filter", "ntt/transpose", "--log-size", "12"];
    let report = bench(&[&args[..], &["--device", "cpu"]].concat());
    assert_eq!(report["kernels"][0]["kernel"], "ntt/transpose");
    assert!(report["kernels"][0]["error"].is_null());
    assert!(report["kernels"][0]["seconds"].as_f64() > Some(0.0));
    assert!(report["roof"]["bytes_per_second"].as_f64() > Some(0.0));
    let nothing = ["bench", "kernels", "--filter", "nothing"];
    fails(&nothing, 2, "no kernel matches");
    fails(&["bench", "kernels", "--log-size", "99"], 2, "99");
    fails(&["bench", "kernels", "--log-size", "-3"], 2, "-3");
}

/// The same case by both engines: as many bytes, the phases of each, and counts of the engine that has them.
#[test]
fn proofs_by_engine() {
    let [ours, theirs] = ["metal", "cpu"].map(|engine| {
        let size = ["keccakf", "--log-sizes", "0", "--log-stacked", "14"];
        let runs = ["--runs", "2", "--warmup", "0", "--engine", engine];
        bench(&[&size[..], &runs].concat())["cases"][0].take()
    });
    for case in [&ours, &theirs] {
        assert_eq!(case["name"], "2^0");
        assert_eq!(case["times_ms"].as_array().map(Vec::len), Some(2));
        assert!(case["proof_bytes"].as_u64() > Some(0));
        assert_eq!(case["proof_bytes"], ours["proof_bytes"]);
        let spans = case["spans_ms"].as_object().expect("spans");
        assert!(spans
            .keys()
            .any(|path| path.ends_with("prover.main_trace_commit")));
    }
    let stages = ours["counts"]["stages"].as_array().expect("stages");
    assert!(stages
        .iter()
        .any(|stage| stage["dispatches"].as_u64() > Some(0)));
    assert!(theirs["counts"].is_null());
}
