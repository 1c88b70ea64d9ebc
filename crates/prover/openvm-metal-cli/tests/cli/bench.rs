//! Benchmarks of kernels, as JSON.

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
