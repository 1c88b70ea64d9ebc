//! The kernels of this workspace break no rule and have no construct without a proof; every file of `census_corpus` is
//! rejected by the rule and at the line that its first line names.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openvm_metal_builder::{
    census::{available, check, Input, Proofs},
    Toolchain,
};

/// The rules on clang's tree.
const RULES: [&str; 15] = [
    "address-space",
    "address-space-mix",
    "atomic-wait",
    "barrier-divergent",
    "base-class",
    "constant-initialiser",
    "flat-parse",
    "metal-syntax",
    "recursion",
    "simd-width",
    "std-name",
    "subnormal",
    "threadgroup-class",
    "type-punning",
    "undefined",
];

/// The compiler, if it is clang. Only a run that asks for g++ may do without: its results would say nothing.
fn toolchain(name: &str) -> Option<Toolchain> {
    let tools =
        Toolchain::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)).expect("a C++ compiler");
    if !available(tools.compiler()) {
        let asked = std::env::var("OPENVM_METAL_CXX").unwrap_or_default();
        assert!(
            asked.contains("g++") && !asked.contains("clang++"),
            "only clang prints its syntax tree: install it, or set OPENVM_METAL_CXX to g++ to do without"
        );
        eprintln!("left out: OPENVM_METAL_CXX names {asked}");
        return None;
    }
    Some(tools)
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn all_units_are_what_apple_accepts() {
    let Some(tools) = toolchain("census-units") else {
        return;
    };
    let folders = [
        "../../crates/prover/openvm-metal-backend/metal",
        "../../crates/prover/openvm-metal-tracegen/metal",
        "../../crates/hologram/hologram-kernels/metal",
        "../../crates/runtime/openvm-metal-common/src/driver/metal",
    ];
    let inputs: Vec<Input> = folders
        .iter()
        .flat_map(|f| Input::folder(&here(f)).expect("a folder of kernels"))
        .collect();
    assert!(inputs.len() >= 25, "{} units", inputs.len());
    let report = check(&tools, &inputs).expect("clang");
    println!("{report}");
    assert!(report.findings.is_empty(), "{report}");
    assert_eq!(report.proven(), report.keys.len());
    assert!(report.keys.len() >= 200, "{report}");
}

#[test]
fn invalid_files_are_rejected_with_rule_and_line() {
    let Some(tools) = toolchain("census-invalid") else {
        return;
    };
    let inputs = Input::folder(&here("tests/census_corpus")).expect("a corpus");
    assert!(inputs.len() >= 95);
    let mut wrong = Vec::new();
    for input in inputs {
        let Input::File { file, .. } = &input else {
            unreachable!("a folder has files")
        };
        let text = fs::read_to_string(file).expect("readable");
        let head = text.lines().next().expect("first line");
        let mut words = head.trim_start_matches("// expect:").split_whitespace();
        let rule = words.next().expect("rule");
        let line: u32 = words.next().and_then(|l| l.parse().ok()).expect("line");
        let report = check(&tools, std::slice::from_ref(&input)).expect("clang");
        let name = file.file_name().and_then(|n| n.to_str()).expect("a name");
        let hit = |b: &&openvm_metal_builder::census::Broken| {
            b.rule == rule && b.line == line && b.file.ends_with(name)
        };
        // Rules on tokens, and missing proofs, may say more.
        let other = report
            .findings
            .iter()
            .any(|b| b.rule != rule && RULES.contains(&b.rule.as_str()));
        if !report.findings.iter().any(|b| hit(&b)) || other {
            wrong.push(format!("{name}: expected {rule} {line}, found\n{report}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Snippets beside the rejected ones that are right; some have no proof.
#[test]
fn valid_files_break_no_rule_of_the_tree() {
    let Some(tools) = toolchain("census-valid") else {
        return;
    };
    let inputs = Input::folder(&here("tests/valid_corpus")).expect("a corpus");
    assert!(inputs.len() >= 16);
    let report = check(&tools, &inputs).expect("clang");
    let broken: Vec<_> = report
        .findings
        .iter()
        .filter(|b| b.rule != "census")
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_missing_proof_is_named_with_its_place_and_what_to_do() {
    let Some(tools) = toolchain("census-missing") else {
        return;
    };
    let file = here("tests/census_corpus/census_pragma.metal");
    let root = file.parent().expect("a folder").to_path_buf();
    let report = check(&tools, &[Input::File { root, file }]).expect("clang");
    let text = report.to_string();
    assert!(text.contains("census_pragma.metal:5: "), "{text}");
    assert!(
        text.contains("clang loop vectorize(enable)") && text.contains("proofs.tsv"),
        "{text}"
    );
    assert!(report.json().contains("\"rule\": \"census\""));
    assert!(Proofs::built_in().keys.len() > report.keys.len());
}
