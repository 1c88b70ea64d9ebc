//! Kernel templates and their instantiations.

use std::collections::HashMap;

use crate::{
    error::Finding,
    kernel_fn::{Entry, Scan},
    lexer::{TokenKind, Tokens},
};

/// `name<args>` that ends before token `stop`.
pub(super) fn template_id(t: &Tokens, stop: usize) -> Option<(String, Vec<String>)> {
    if t.at(stop - 1) != ">" {
        return None;
    }
    let mut depth = 0usize;
    let mut i = stop - 1;
    loop {
        match t.at(i) {
            ">" => depth += 1,
            "<" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        i = i.checked_sub(1)?;
    }
    let mut args = Vec::new();
    let mut from = i + 1;
    let mut angle = 0usize;
    for k in i + 1..stop {
        match t.at(k) {
            "<" | "(" => angle += 1,
            ")" => angle = angle.saturating_sub(1),
            ">" if k + 1 < stop => angle = angle.saturating_sub(1),
            _ => {}
        }
        if (t.at(k) == "," && angle == 0) || k + 1 == stop {
            args.push(t.join(from, k));
            from = k + 1;
        }
    }
    Some((t.at(i - 1).to_string(), args))
}

/// Makes the entry of an explicit instantiation at token `at`.
pub(super) fn instantiate(
    t: &Tokens,
    at: usize,
    name: &str,
    args: &[String],
    host: Option<String>,
    doc: Option<String>,
    out: &mut Scan,
) {
    let found = out
        .functions
        .iter()
        .position(|f| f.template.is_some() && f.name.rsplit("::").next() == Some(name));
    let Some(function) = found else {
        out.findings.push(Finding {
            file: t.tokens[at].file.to_string(),
            line: t.tokens[at].line,
            rule: "kernel-instantiation",
            message: format!("no kernel template `{name}`"),
            remedy: "instantiate a kernel template declared above, in the same namespace",
        });
        return;
    };
    let f = &out.functions[function];
    let mut substitution = HashMap::new();
    for (i, (param, default)) in f.template.iter().flatten().enumerate() {
        if let Some(value) = args.get(i).or(default.as_ref()) {
            substitution.insert(param.clone(), value.clone());
        }
    }
    let reference = format!("{}<{}>", f.name, args.join(", "));
    out.entries.push(Entry {
        name: host.unwrap_or_else(|| name.to_string()),
        reference,
        substitution,
        function,
        doc: doc.unwrap_or_else(|| f.doc.clone()),
    });
}

/// Names and defaults of the parameters between `<` and `>`.
pub(super) fn template_params(
    t: &Tokens,
    open: usize,
    close: usize,
) -> Vec<(String, Option<String>)> {
    let mut out = Vec::new();
    let mut from = open + 1;
    let mut angle = 0usize;
    for k in open + 1..=close {
        match t.at(k) {
            "<" => angle += 1,
            ">" if k < close => angle = angle.saturating_sub(1),
            _ => {}
        }
        if k == close || (t.at(k) == "," && angle == 0) {
            let eq = (from..k).find(|&i| t.at(i) == "=");
            let name = (from..eq.unwrap_or(k))
                .rfind(|&i| t.tokens[i].kind == TokenKind::Ident)
                .map(|i| t.at(i).to_string());
            if let Some(name) = name {
                out.push((name, eq.map(|e| t.join(e + 1, k))));
            }
            from = k + 1;
        }
    }
    out
}
