//! Each of the rules on Apple's text has snippets that it rejects, three at least. That they are rejected, and at which line, is
//! checked by `lint` and `census`.

use std::{collections::BTreeMap, fs, path::Path};

/// Names of each rule: those of the findings that it makes.
const RULES: [(&str, &[&str]); 19] = [
    ("flat-parse", &["flat-parse"]),
    ("position-width", &["position-width"]),
    ("threadgroup-class", &["threadgroup-class"]),
    ("base-class", &["base-class"]),
    ("std-name", &["std-name"]),
    ("bans", &BANS),
    ("nesting", &["nesting"]),
    ("foreign-macro", &["foreign-macro"]),
    ("conditional-include", &["conditional-include"]),
    ("contraction", &["contraction"]),
    ("atomic-wait", &["atomic-wait"]),
    ("barrier-divergent", &["barrier-divergent"]),
    ("constant-initialiser", &["constant-initialiser"]),
    ("overlap", &["overlap"]),
    ("recursion", &["recursion"]),
    ("subnormal", &["subnormal"]),
    ("thread-limit", &["thread-limit"]),
    ("type-punning", &["type-punning"]),
    ("undefined", &["undefined"]),
];

/// Constructs that the language does not have: each has its snippets.
const BANS: [&str; 13] = [
    "address-space",
    "dynamic-memory",
    "function-address",
    "goto",
    "label",
    "lambda",
    "literal-suffix",
    "long-long",
    "noexcept",
    "storage-class",
    "union",
    "variadic",
    "virtual",
];
const EACH: usize = 3;

/// Number of files of the corpora that each rule rejects.
fn rejected() -> BTreeMap<String, usize> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut count = BTreeMap::new();
    for folder in ["lint_corpus", "census_corpus"] {
        for entry in fs::read_dir(tests.join(folder))
            .expect("a corpus")
            .flatten()
        {
            let path = entry.path();
            if path.extension().is_some_and(|e| e == "metal") {
                let text = fs::read_to_string(path).expect("readable");
                let head = text.strip_prefix("// expect: ").unwrap_or_default();
                let rule = head.split_whitespace().next().expect("a rule");
                *count.entry(rule.to_owned()).or_default() += 1;
            }
        }
    }
    count
}

#[test]
fn each_rule_rejects_three_snippets() {
    let count = rejected();
    for (rule, names) in RULES {
        for name in names {
            let n = count.get(*name).copied().unwrap_or_default();
            assert!(n >= EACH, "{rule}: {n} snippets for `{name}`");
        }
    }
    let of_census = count.get("census").copied().unwrap_or_default();
    assert!(of_census >= EACH, "{of_census} snippets without a proof");
}
