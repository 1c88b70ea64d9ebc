//! Words of C++ that Metal, or one of the targets, does not have.

use crate::{error::Finding, lexer::TokenKind, lint::Source};

/// Word, rule, remedy.
const FORBIDDEN: &[(&str, &str, &str)] = &[
    ("double", "double", "use float, or integers"),
    ("virtual", "virtual", "use templates"),
    ("new", "dynamic-memory", "take a buffer from the host"),
    ("delete", "dynamic-memory", "take a buffer from the host"),
    ("malloc", "dynamic-memory", "take a buffer from the host"),
    ("try", "exception", "write a status to a buffer"),
    ("catch", "exception", "write a status to a buffer"),
    ("throw", "exception", "write a status to a buffer"),
    ("dynamic_cast", "rtti", "use templates"),
    ("typeid", "rtti", "use templates"),
    ("goto", "goto", "use loops and functions"),
    ("thread_local", "storage-class", "use a local variable"),
    ("register", "storage-class", "leave the word out"),
    ("asm", "assembly", "use the functions of metal_stdlib"),
    ("__asm__", "assembly", "use the functions of metal_stdlib"),
    ("std", "std-namespace", "use metal_stdlib"),
    ("printf", "printf", "write to a buffer"),
    ("sampler", "texture", "use buffers"),
    ("wchar_t", "wide-character", "use uint"),
];

pub(crate) fn check(s: &Source<'_>, out: &mut Vec<Finding>) {
    for i in 0..s.t.len() {
        let word = s.t.at(i);
        match s.t.tokens[i].kind {
            TokenKind::Directive => directive(s, i, out),
            TokenKind::Ident => {
                identifier(s, i, word, out);
            }
            TokenKind::Punct if word == "[" => lambda(s, i, out),
            _ => {}
        }
    }
}

fn directive(s: &Source<'_>, i: usize, out: &mut Vec<Finding>) {
    let text = s.t.at(i);
    let loops = text.strip_prefix("#pragma clang loop ").map(str::trim);
    if matches!(loops, Some("unroll(full)" | "unroll(disable)")) {
        return;
    }
    if text.contains("pragma") && (text.contains(" unroll") || text.contains("clang loop")) {
        out.push(s.finding(
            i,
            "unroll-pragma",
            "every target can have this pragma only as unroll(full) or unroll(disable)".into(),
            "write MSL_UNROLL or MSL_ROLLED of lanes.h before the loop",
        ));
    }
}

fn identifier(s: &Source<'_>, i: usize, word: &str, out: &mut Vec<Finding>) {
    let member = i > 0 && matches!(s.t.at(i - 1), "." | "->" | "::");
    if let Some((_, rule, remedy)) = FORBIDDEN.iter().find(|f| f.0 == word) {
        let deleted = word == "delete" && s.t.at(i - 1) == "=";
        let is_std = word != "std" || s.t.at(i + 1) == "::";
        if !member && !deleted && is_std {
            out.push(s.finding(
                i,
                rule,
                format!("`{word}` is not part of the language"),
                remedy,
            ));
        }
    }
    if word.starts_with("texture") && s.t.at(i + 1) == "<" {
        out.push(s.finding(
            i,
            "texture",
            "textures do not exist on the CPU and CUDA devices".into(),
            "use buffers",
        ));
    }
    let matrix = word.starts_with("simdgroup_") && word.ends_with("8x8");
    let float = word.contains("float") || word.contains("half") || word.contains("bfloat");
    let element = s.t.at(i + 2);
    let generic = word == "simdgroup_matrix" && !matches!(element, "float" | "half" | "bfloat");
    if (matrix && !float) || generic {
        out.push(s.finding(
            i,
            "simdgroup-matrix",
            "SIMD-group matrices have floating point elements only".into(),
            "multiply with scalars",
        ));
    }
    if word == "function_constant" {
        out.push(s.finding(
            i,
            "function-constant",
            "function constants have no value on the CPU and CUDA devices".into(),
            "use [[host_name]] instantiations or a member of a `constant Params&`",
        ));
    }
    if word == "static" && s.scopes[i].in_function && s.t.at(i + 1) != "constexpr" {
        out.push(s.finding(
            i,
            "storage-class",
            "functions have no static variables".into(),
            "use a constant at namespace scope, or a buffer",
        ));
    }
}

fn lambda(s: &Source<'_>, i: usize, out: &mut Vec<Finding>) {
    if s.t.is_attribute(i)
        || (i > 0 && s.t.is_attribute(i - 1))
        || !s.scopes[i].in_function
        || i == 0
    {
        return;
    }
    let before = &s.t.tokens[i - 1];
    let subscript = before.kind == TokenKind::Ident && s.t.at(i - 1) != "return"
        || matches!(s.t.at(i - 1), ")" | "]" | "}" | "delete")
        || before.kind == TokenKind::Literal;
    let close = s.t.matching(i);
    if !subscript && matches!(s.t.at(close + 1), "(" | "{") {
        out.push(s.finding(
            i,
            "lambda",
            "lambdas need a newer language version than Metal 3.1".into(),
            "use a struct with operator() or a function template",
        ));
    }
}
