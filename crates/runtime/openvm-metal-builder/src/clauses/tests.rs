use super::*;
use crate::{clause::Per, cost_units::CostUnits, lexer::Tokens, scan, types::TypeMap};

const BEFORE: &str = "# 1 \"k.metal\"\n/// Adds.\n";
const AFTER: &str = "\ntemplate <typename T, uint N> kernel void f(device const T* in [[buffer(0)]], device T* out [[buffer(1)]],
    device uint& count [[buffer(3)]], constant P& p [[buffer(2)]], constant uint& n [[buffer(4)]],
    uint gid [[thread_position_in_grid]]) { if (gid >= n) return; out[gid] = in[gid]; }
template [[host_name(\"g\")]] kernel void f<float, 4u>(device const float*, device float*, device uint&, constant P&, constant uint&, uint);";

fn scanned(comment: &str) -> Scan {
    scan::scan(&Tokens::new(format!("{BEFORE}{comment}{AFTER}")))
}

/// The generated function for a comment.
fn rust(comment: &str) -> String {
    let scan = scanned(comment);
    assert!(scan.findings.is_empty(), "{:?}", scan.findings);
    let (types, mut units) = (TypeMap::default(), CostUnits::default());
    units.insert("ext product", 19, 2);
    let names = (&types, &units);
    function(&scan.functions[0], &scan.entries[0], names, "check").expect("clauses")
}

/// The only finding of the rule `clause`, and its line.
fn refused(comment: &str) -> (String, u32) {
    let findings = scanned(comment).findings;
    assert_eq!(findings.len(), 1, "{comment}: {findings:?}");
    assert_eq!(findings[0].rule, "clause");
    assert_eq!(findings[0].file, "k.metal");
    (findings[0].message.clone(), findings[0].line)
}

#[test]
fn a_clause_ends_with_its_sentence_and_may_have_several_lines() {
    let scan = scanned("/// Cost: 1 ext product,\n/// 48 bytes per thread. Never 3. more\n/// Lengths: in, out p.n << 1,\n/// count 1");
    let clauses = &scan.functions[0].clauses;
    assert!(scan.findings.is_empty(), "{:?}", scan.findings);
    let cost = clauses.cost.as_ref().expect("a cost");
    assert_eq!(cost.per, Per::Thread);
    assert_eq!(cost.items.len(), 2);
    let names: Vec<&str> = clauses.lengths.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["in", "out", "count"]);
    assert_eq!(clauses.lengths[0].1, clauses.lengths[1].1);
    assert!(scan.functions[0].is_safe());
    assert!(missing(&scan).is_empty());
}

#[test]
fn expressions_become_calls_in_the_order_of_their_operators() {
    let text = rust("/// Lengths: in max(p.n + 2 * N, groups.y, 1), out n % 3 == 1 ? p.a[2] : sizeof(T), count 1 + 2 << 3.");
    let amount = "::openvm_metal_common::clause::Amount::of";
    for part in [
        "c.field(2, ::core::mem::offset_of!(crate::params::P, n), |p: &crate::params::P| p.n)",
        "c.entry(2, ::core::mem::offset_of!(crate::params::P, a), 2, |p: &crate::params::P| p.a[2])",
        "c.groups(Some(1))",
        "c.scalar::<u32>(4)",
        "::core::mem::size_of::<f32>() as u64",
        &format!("(n0 + ({amount}(2) * {amount}(4))).max(n1).max({amount}(1))"),
        &format!("(({amount}(1) + {amount}(2)) << {amount}(3))"),
        "c.length(3, ",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn costs_are_products_and_bytes_of_units_that_exist() {
    let text = rust("/// Cost: 4 products, 2 ext products, 8 bytes per thread.");
    let amount = "::openvm_metal_common::clause::Amount::of";
    assert!(text.contains(&format!("({amount}(2) * {amount}(19) / {amount}(2))")));
    let scan = scanned("/// Cost: 1 apple, 2 ext products per thread.");
    assert!(scan.findings.is_empty(), "{:?}", scan.findings);
    let mut units = CostUnits::default();
    let found = units.unknown(&scan);
    assert_eq!(found.len(), 2);
    assert!(
        found[0].message.contains("counts `apple`"),
        "{}",
        found[0].message
    );
    units.insert("apple", 3, 1);
    units.insert("ext product", 19, 2);
    assert!(units.unknown(&scan).is_empty());
}

#[test]
fn requirements_keep_their_text() {
    let text = rust("/// Requires: p.n <= 4, threads_per_group == 1 << p.n or n > 2.\n/// Cost: 1 product per threadgroup.");
    for part in [
        "[(n0, ::core::cmp::Ordering::is_le, ::openvm_metal_common::clause::Amount::of(4))]",
        "c.require(\"p.n <= 4\", &n1);",
        "c.require(\"threads_per_group == 1 << p.n or n > 2\", &",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(text.contains("Per::Threadgroup"));
}

#[test]
fn clauses_that_cannot_be_read_are_findings_with_their_line() {
    for (comment, message, line) in [
        ("/// Cost: 1 per thread.", "an amount of `per`", 2),
        ("/// Cost: 1 product.", "`per` expected, found the end", 2),
        ("/// Cost: 1 product per warp.", "`warp`", 2),
        (
            "/// Text.\n/// Lengths: into 1.",
            "`into`, which is no buffer",
            3,
        ),
        ("/// Lengths: p 1.", "`p`, which is no buffer", 2),
        ("/// Lengths: in 1, in 2.", "two lengths of `in`", 2),
        (
            "/// Lengths: in m.",
            "`m` is nothing that the launch knows",
            2,
        ),
        ("/// Lengths: in (1 + 2.", "`)` expected, found the end", 2),
        ("/// Lengths: in 1 2.", "`2`", 2),
        ("/// Lengths: in max(1).", "two or more", 2),
        ("/// Lengths: in threads.w.", "`threads.w`", 2),
        ("/// Lengths: in 99999999999999999999.", "64 bits", 2),
        ("/// Lengths: in p.n & 3.", "`&`", 2),
        ("/// Requires: p.n.", "compares nothing", 2),
        (
            "/// Cost: 1 byte per thread.\n/// Cost: 2 bytes per thread.",
            "a second `Cost:`",
            3,
        ),
        ("/// InPlace: in, p.", "no buffer", 2),
        ("/// InPlace: in.", "none is written, or a single", 2),
        ("/// InPlace: out, out.", "`out` in place twice", 2),
        (
            "/// InPlace: in, out.\n/// InPlace: in, out.",
            "a second `InPlace:`",
            3,
        ),
        ("/// Registers: 41 per thread.", "multiple of 8", 2),
        ("/// Registers: 40.", "`per` expected", 2),
        (
            "/// Registers: 40 per thread.\n/// Registers: 48 per thread.",
            "a second `Registers:`",
            3,
        ),
        ("/// Safety:", "says nothing", 2),
    ] {
        let (found, at) = refused(comment);
        assert!(found.contains(message), "{comment}: {found}");
        assert_eq!(at, line, "{comment}");
    }
}

#[test]
fn a_kernel_without_cost_or_lengths_is_refused_by_builds() {
    let rules = |comment: &str| {
        let found = missing(&scanned(comment));
        assert!(found.iter().all(|f| f.rule == "clause-missing"));
        found.iter().map(|f| f.message.clone()).collect::<Vec<_>>()
    };
    let none = rules("/// More.");
    assert_eq!(none.len(), 2, "{none:?}");
    assert!(none[1].contains("`in`, `out`, `count`"), "{none:?}");
    let some = rules("/// Cost: 1 byte per thread.\n/// Lengths: in, out n.");
    assert_eq!(some.len(), 1);
    assert!(some[0].ends_with("of `count`"), "{some:?}");
    assert!(rules("/// Cost: 1 byte per thread.\n/// Safety: in is long.").is_empty());
}

#[test]
fn buffers_in_place_are_named_by_index() {
    let text = rust("/// InPlace: count, in, out.\n/// Lengths: in, out, count 1.");
    assert!(text.contains("c.in_place(&[3, 0, 1]);"), "{text}");
    assert!(!rust("/// Lengths: in, out, count 1.").contains("in_place"));
}

#[test]
fn given_numbers_are_arguments_of_the_launcher() {
    let text =
        rust("/// Given: runs, cells.\n/// Cost: cells products, 4 * runs bytes per thread.");
    assert!(
        text.contains("c.given(1)") && text.contains("c.given(0)"),
        "{text}"
    );
    let told =
        scanned("/// Given: n2.\n/// Cost: 1 byte per launch.\n/// Lengths: in, out n2, count 1.");
    let found = missing(&told);
    assert!(
        found.len() == 1 && found[0].message.contains("given numbers"),
        "{found:?}"
    );
    for wrong in ["runs, runs", "p", "3", "a, b, c, d, e"] {
        assert_eq!(refused(&format!("/// Given: {wrong}.")).1, 2);
    }
}

#[test]
fn safety_makes_a_section_of_the_documentation() {
    let doc = "Adds.\nSafety: the table\nlies inside.\nCost: 1 byte per thread.\nMore.";
    let text = documentation(doc).join("\n");
    assert_eq!(
        text,
        "Adds.\n\nCost: 1 byte per thread.\nMore.\n\n# Safety\nthe table\nlies inside."
    );
    assert!(!scanned("/// Safety: all\n/// Lengths: in, out, count 1.").functions[0].is_safe());
}
