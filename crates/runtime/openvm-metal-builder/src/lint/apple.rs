//! Rules for constructs that Apple's compiler alone refuses or treats differently: attributes, words, nesting, literals, pragmas.

use std::collections::HashSet;

use crate::{
    error::Finding,
    lexer::TokenKind,
    lint::Source,
    macros, rewrite,
    scan::KernelFn,
    scope::statement_start,
    shim::{self, LANES_HEADER},
    signature::ParamKind,
};

pub(crate) fn check(s: &Source<'_>, out: &mut Vec<Finding>) {
    for f in &s.scan.functions {
        position_width(f, out);
    }
    words(s, out);
    labels(s, out);
    nesting(s, out);
    function_addresses(s, out);
    contraction(s, out);
}

/// Attributes whose parameters have one width in a kernel; indices such as `thread_index_in_threadgroup` are numbers.
const POSITIONS: [&str; 7] = [
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threadgroups_per_grid",
    "threads_per_grid",
    "threads_per_threadgroup",
    "dispatch_threads_per_threadgroup",
];

/// Elements of a position type: `uint2` and `gid2_l` have two.
fn width(element: &str) -> u32 {
    let name = element.strip_suffix("_l").unwrap_or(element);
    name.chars()
        .last()
        .and_then(|c| c.to_digit(10))
        .unwrap_or(1)
}

/// Positions and sizes in grid and threadgroup: all scalars, or all vectors of one width.
fn position_width(f: &KernelFn, out: &mut Vec<Finding>) {
    let is_position =
        |kind: &ParamKind| matches!(kind, ParamKind::Builtin(b) if POSITIONS.contains(&b.as_str()));
    let mut positions = f.params.iter().filter(|p| is_position(&p.kind));
    let Some(first) = positions.next() else {
        return;
    };
    for p in positions {
        if width(&p.element) != width(&first.element) {
            out.push(Finding {
                file: f.file.clone(),
                line: p.line,
                rule: "position-width",
                message: format!(
                    "kernel `{}` takes `{} {}` beside `{} {}`",
                    f.name, first.element, first.name, p.element, p.name
                ),
                remedy: "give all positions and sizes in grid and threadgroup one width: all uint, all uint2 or all uint3",
            });
            return;
        }
    }
}

/// Words and literals that are not Metal.
fn words(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    for i in 0..t.len() {
        let word = t.at(i);
        let found = match t.tokens[i].kind {
            TokenKind::Ident => identifier(s, i, word),
            TokenKind::Number => literal(word),
            // `f(int n, ...)`; packs of templates have a name before the dots.
            TokenKind::Punct if word == "." && (1..3).all(|k| t.at(i + k) == ".") => {
                let before = if i > 0 { t.at(i - 1) } else { "" };
                let variadic = matches!(before, "," | "(") && t.at(i + 3) == ")";
                variadic.then(|| {
                    (
                        "variadic",
                        "functions have a fixed number of arguments".to_string(),
                        "write overloads, or a template",
                    )
                })
            }
            _ => None,
        };
        if let Some((rule, message, remedy)) = found {
            out.push(s.finding(i, rule, message, remedy));
        }
    }
}

type Found = Option<(&'static str, String, &'static str)>;

fn identifier(s: &Source<'_>, i: usize, word: &str) -> Found {
    let not_metal = || format!("`{word}` is not part of the language");
    match word {
        "union" => Some(("union", not_metal(), "use as_type, or two variables")),
        "noexcept" => Some(("noexcept", not_metal(), "leave the word out")),
        "long" if s.t.at(i + 1) == "long" => Some((
            "long-long",
            "`long long` is not part of the language".into(),
            "use long or ulong: they have 64 bits",
        )),
        _ if macros::target_macro(word).is_some() || word.starts_with("MSL_") => Some((
            "target-macro",
            format!("`{word}` is not defined"),
            "include <lanes.h>; docs/guide/write-a-kernel.md lists the macros that there are",
        )),
        _ if word.starts_with("METAL_") && word != "METAL_FUNC" => Some((
            "foreign-macro",
            format!("`{word}` is a macro of Apple's own headers"),
            "write what it stands for: `constant constexpr`, `inline`",
        )),
        _ => None,
    }
}

/// `1ull`, `0x1LL`.
fn literal(word: &str) -> Found {
    let hex = word.starts_with("0x") || word.starts_with("0X");
    let digit = |c: char| {
        if hex {
            c.is_ascii_hexdigit()
        } else {
            c.is_ascii_digit()
        }
    };
    let suffix = word.trim_start_matches(|c: char| digit(c) || matches!(c, '\'' | 'x' | 'X'));
    suffix.to_ascii_lowercase().contains("ll").then(|| {
        (
            "literal-suffix",
            format!("`{word}` has a suffix of `long long`"),
            "use l or ul: long has 64 bits",
        )
    })
}

/// `name:` before a statement.
fn labels(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    for i in 0..t.len() {
        let label = t.tokens[i].kind == TokenKind::Ident
            && t.at(i + 1) == ":"
            && s.scopes[i].in_function
            && !matches!(t.at(i), "default" | "public" | "private" | "protected")
            && statement_start(t, i) == i;
        if label {
            out.push(s.finding(
                i,
                "label",
                format!("`{}:` is a label", t.at(i)),
                "use loops and functions",
            ));
        }
    }
}

/// Apple's compiler counts brackets that are open at a time; it has a small stack when it compiles at run time.
const DEEPEST: usize = 64;

fn nesting(s: &Source<'_>, out: &mut Vec<Finding>) {
    let mut depth = 0usize;
    for i in 0..s.t.len() {
        match s.t.at(i) {
            "(" | "[" | "{" => {
                depth += 1;
                if depth == DEEPEST + 1 {
                    out.push(s.finding(
                        i,
                        "nesting",
                        format!("more than {DEEPEST} brackets are open"),
                        "name a part of the expression, or make a function of a part of the body",
                    ));
                }
            }
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// `&function` and `T (*name)(...)`.
fn function_addresses(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    let mut functions: HashSet<&str> = HashSet::new();
    for i in 1..t.len() {
        let defined = t.at(i) == "(" && !s.scopes[i].in_function && !s.scopes[i].in_type;
        if defined && t.tokens[i - 1].kind == TokenKind::Ident && t.at(t.matching(i) + 1) == "{" {
            functions.insert(t.at(i - 1));
        }
    }
    for i in 1..t.len() {
        let before = &t.tokens[i - 1];
        let operand = matches!(before.kind, TokenKind::Ident | TokenKind::Number)
            && t.at(i - 1) != "return"
            || matches!(t.at(i - 1), ")" | "]" | "&");
        let address = t.at(i) == "&"
            && !operand
            && functions.contains(t.at(i + 1))
            && t.at(i + 2) != "("
            && s.scopes[i].in_function;
        let pointer = t.at(i) == "("
            && t.at(i + 1) == "*"
            && t.tokens
                .get(i + 2)
                .is_some_and(|n| n.kind == TokenKind::Ident)
            && t.at(i + 3) == ")"
            && t.at(i + 4) == "("
            && before.kind == TokenKind::Ident
            && !matches!(t.at(i - 1), "return" | "if" | "while" | "for" | "switch");
        if address || pointer {
            out.push(s.finding(
                i,
                "function-address",
                "functions have no address".into(),
                "pass a struct with a static function as a template argument",
            ));
        }
    }
}

/// A file that calculates with floats says that products and sums stay apart: the safe math mode does not.
fn contraction(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    if rewrite::forbids_contraction(t) || s.scan.entries.is_empty() {
        return;
    }
    let floating = |i: usize| {
        t.tokens[i].file.as_ref() != LANES_HEADER
            && t.tokens[i].kind != TokenKind::Directive
            // Refused by a rule of its own.
            && t.at(i) != "double"
            && shim::is_floating(t.at(i))
    };
    if let Some(i) = (0..t.len()).find(|&i| floating(i)) {
        out.push(s.finding(
            i,
            "contraction",
            format!(
                "`{}`: the file has floats and allows products and sums to be contracted",
                t.at(i)
            ),
            "write `#pragma METAL fp contract(off)` below the includes",
        ));
    }
}
