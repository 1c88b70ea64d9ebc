//! Turns preprocessed Metal source into C++ that the shim headers understand.

use std::collections::HashSet;

use crate::{
    casts::{is_pointer, operand},
    edits::Edits,
    lexer::{TokenKind, Tokens},
    overloads,
    scan::Scan,
    scope::{self, Scope},
};

/// C++ for all flavours; with `lanes_only`, kernels without a lane version are left out.
pub fn rewrite(t: &Tokens, scan: &Scan, lanes_only: bool) -> String {
    let scopes = scope::scopes(t);
    let mut e = Edits::new(t);
    for &(from, to) in &scan.instantiations {
        e.replace(from, to, "");
    }
    let mut i = 0;
    while i < t.len() {
        i = token(t, &scopes, i, &mut e);
    }
    constants(t, scan, &mut e);
    for f in &scan.functions {
        if lanes_only && !f.kind.lanes() {
            e.replace(f.range.0, f.range.1, "");
            continue;
        }
        let Some(g) = &f.guard else { continue };
        if f.kind.barriers() {
            continue;
        }
        let condition = t.join(g.condition.0, g.condition.1);
        e.replace(
            g.statement.0,
            g.statement.1,
            &format!("MSL_GUARD({condition})"),
        );
        let template = f
            .template_tokens
            .map(|(a, b)| format!("template {}", t.join(a, b + 1)))
            .unwrap_or_default();
        let name = f.name.rsplit("::").next().unwrap_or(&f.name);
        let params = without_attributes(t, f.params_tokens.0, f.params_tokens.1);
        e.insert(
            f.range.0,
            &format!(
                "{template} MSL_INL ulong msl_bound_{name}{params} {{ return (ulong)({}); }} ",
                g.bound
            ),
        );
    }
    for (from, to) in overloads::superfluous(t, &scopes) {
        e.remove(from, to);
    }
    e.apply()
}

/// C++ for OpenCL: as [`rewrite`], with tables at namespace scope in the constant address space.
pub fn for_lint(t: &Tokens, scan: &Scan, scopes: &[Scope]) -> String {
    let mut e = Edits::new(t);
    for &(from, to) in &scan.instantiations {
        e.replace(from, to, "");
    }
    for i in thread_constructors(t) {
        e.replace(i, i + 1, "");
    }
    let mut i = 0;
    while i < t.len() {
        let next = token(t, scopes, i, &mut e);
        let outside = !scopes[i].in_function && t.tokens[i].kind == TokenKind::Ident;
        if outside && t.at(i) == "constant" && t.at(i + 1) != "*" && is_table(t, i) {
            e.replace(i, i + 1, "MSL_TABLE");
        }
        i = next;
    }
    e.apply()
}

/// The word `thread` behind the parameters of constructors: objects of OpenCL that have no name yet have no such space.
fn thread_constructors(t: &Tokens) -> Vec<usize> {
    let class = |i: &usize| matches!(t.at(*i), "struct" | "class");
    let classes: HashSet<&str> = (0..t.len()).filter(class).map(|i| t.at(i + 1)).collect();
    let opened = (0..t.len()).filter(|&i| classes.contains(t.at(i)) && t.at(i + 1) == "(");
    opened
        .map(|i| t.matching(i + 1) + 1)
        .filter(|&i| t.at(i) == "thread")
        .collect()
}

/// Function constants become constants of their value, or of zero if the file can do without one.
fn constants(t: &Tokens, scan: &Scan, e: &mut Edits<'_>) {
    for c in &scan.constants {
        let value = scan.values.get(&c.index).map(ToString::to_string);
        let text = format!(" = msl_make<{}>({})", c.element, value.unwrap_or_default());
        e.replace(c.attribute.0, c.attribute.1, &text);
    }
    for i in (0..t.len()).filter(|&i| t.at(i) == "is_function_constant_defined") {
        let defined = scan
            .constants
            .iter()
            .find(|c| t.at(i + 1) == "(" && c.name == t.at(i + 2))
            .map(|c| scan.values.contains_key(&c.index));
        if let Some(defined) = defined {
            e.replace(i, t.matching(i + 1) + 1, &defined.to_string());
        }
    }
}

/// `constant T NAME ... = ...;` at namespace scope or `static constant` in a struct, not a parameter.
fn is_table(t: &Tokens, i: usize) -> bool {
    let start = scope::statement_start(t, i);
    let stop = (i..t.len()).find(|&k| matches!(t.at(k), ";" | "=" | "{" | "(" | ")" | "*" | "&"));
    let parameter = (start..i).any(|k| t.at(k) == "(");
    !parameter && stop.is_some_and(|k| matches!(t.at(k), "=" | ";" | "{"))
}

fn without_attributes(t: &Tokens, from: usize, to: usize) -> String {
    let mut out = String::new();
    let mut start = from;
    let mut i = from;
    while i < to {
        if t.is_attribute(i) {
            out += &t.join(start, i);
            out.push(' ');
            i = t.matching(i) + 1;
            start = i;
        } else {
            i += 1;
        }
    }
    out + &t.join(start, to)
}

/// True if the source forbids contraction of products and sums, from the directive to its end.
pub fn forbids_contraction(t: &Tokens) -> bool {
    let squeezed = |i: usize| t.at(i).split_whitespace().collect::<Vec<_>>().join(" ");
    (0..t.len())
        .filter(|&i| t.tokens[i].kind == TokenKind::Directive)
        .any(|i| squeezed(i) == "#pragma METAL fp contract(off)")
}

/// Replacement of a directive in C++, if not itself: Apple's headers are there already, and the shim has the pragmas of
/// each compiler.
fn directive(text: &str) -> Option<&'static str> {
    if text.starts_with("#pragma METAL") || text.starts_with("#include") {
        return Some("");
    }
    match text.strip_prefix("#pragma clang loop ")?.trim() {
        "unroll(full)" => Some("MSL_UNROLL"),
        "unroll(disable)" => Some("MSL_ROLLED"),
        _ => None,
    }
}

/// Handles the construct that begins at token `i`; returns the next token to look at.
fn token(t: &Tokens, scopes: &[Scope], i: usize, e: &mut Edits<'_>) -> usize {
    if t.tokens[i].kind == TokenKind::Directive {
        if let Some(text) = directive(t.at(i)) {
            e.replace(i, i + 1, text);
        }
        return i + 1;
    }
    if t.is_attribute(i) {
        let end = t.matching(i);
        let inner = (i..end).map(|k| t.at(k)).collect::<Vec<_>>();
        let text = if inner.contains(&"kernel") {
            "MSL_KERNEL "
        } else {
            ""
        };
        e.replace(i, end + 1, text);
        return end + 1;
    }
    let word = t.at(i);
    if word == "__attribute__" && t.at(i + 3) == "always_inline" && t.at(i + 4) == ")" {
        // The compilers of the other targets know better: this one is for drivers.
        let end = t.matching(i + 1) + 1;
        e.replace(i, end, "");
        return end;
    }
    if word == "(" && is_vector_type(t.at(i + 1)) && t.at(i + 2) == ")" {
        // `(half4)x`: C++ takes vectors of equal size bit by bit and no others. Behind a name it is a parameter.
        let before = i.wrapping_sub(1);
        let name = t
            .tokens
            .get(before)
            .is_some_and(|b| b.kind == TokenKind::Ident);
        let end = operand(t, i + 3).filter(|_| !name || t.at(before) == "return");
        if let Some(end) = end {
            e.replace(i, i + 3, &format!("msl_make<{}>(", t.at(i + 1)));
            e.append(end, ")");
            return i + 3;
        }
    }
    if word == "kernel" && !scopes[i].in_function {
        e.replace(i, i + 1, "MSL_KERNEL");
    } else if word == "threadgroup" && scopes[i].in_function {
        return threadgroup_array(t, i, e);
    } else if t.at(i + 1) == "(" && is_vector_type(word) && t.at(i.wrapping_sub(1)) != "operator" {
        e.replace(i, i + 1, &format!("msl_make<{word}>"));
    } else if word == "static_cast"
        && t.matching_angle(i + 1)
            .is_some_and(|k| !is_pointer(t.at(k - 1)))
    {
        e.replace(i, i + 1, "msl_static_cast");
    } else if word == "vec" && t.at(i + 1) == "<" {
        if let Some(end) = t.matching_angle(i + 1) {
            if t.at(end + 1) == "(" {
                e.insert(i, "msl_make<");
                e.replace(end, end + 1, ">>");
            }
            return i + 2;
        }
    }
    i + 1
}

fn is_vector_type(word: &str) -> bool {
    let Some(base) = word.strip_suffix(['2', '3', '4']) else {
        return false;
    };
    matches!(
        base,
        "bool"
            | "char"
            | "uchar"
            | "short"
            | "ushort"
            | "int"
            | "uint"
            | "long"
            | "ulong"
            | "half"
            | "float"
            | "bfloat"
    )
}

/// `threadgroup T a[N], b;` becomes `typedef T a__t[N]; MSL_TG(a); ...`; pointers stay as they are.
fn threadgroup_array(t: &Tokens, at: usize, e: &mut Edits<'_>) -> usize {
    let mut end = at + 1;
    let mut depth = 0usize;
    while end < t.len() && !matches!(t.at(end), ";" | "=" | "{" | "}" | ">") {
        match t.at(end) {
            "*" | "&" if depth == 0 => return at + 1,
            "(" if depth == 0 => return at + 1,
            ")" if depth == 0 => return at + 1,
            "<" => {
                end = t.matching_angle(end).unwrap_or(end);
            }
            "[" if !t.is_attribute(end) => depth += 1,
            "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        end += 1;
    }
    if t.at(end) != ";" {
        return at + 1;
    }
    // Declarators: split at commas outside brackets.
    let mut parts = Vec::new();
    let mut from = at + 1;
    let mut k = at + 1;
    while k <= end {
        match t.at(k) {
            "[" => k = t.matching(k),
            "<" => k = t.matching_angle(k).unwrap_or(k),
            "," | ";" => {
                parts.push((from, k));
                from = k + 1;
            }
            _ => {}
        }
        k += 1;
    }
    let Some(&(first, first_end)) = parts.first() else {
        return at + 1;
    };
    let mut name = first;
    while name < first_end && t.at(name) != "[" {
        if t.at(name) == "<" {
            name = t.matching_angle(name).unwrap_or(name);
        }
        name += 1;
    }
    let name = name - 1;
    let base = without_attributes(t, first, name);
    let mut text = String::new();
    for (n, &(a, b)) in parts.iter().enumerate() {
        let name = if n == 0 { name } else { a };
        let id = t.at(name);
        text += &format!(
            "typedef {base} {id}__t{}; MSL_TG({id}); ",
            t.join(name + 1, b)
        );
    }
    e.replace(at, end, text.trim_end().trim_end_matches(';'));
    end
}
