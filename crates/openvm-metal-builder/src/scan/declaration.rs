//! One declaration that begins with `kernel`: a function, a template or an explicit instantiation.

use std::collections::{HashMap, HashSet};

use super::{
    kind::{guard, kind},
    template::{template_id, template_params},
};
use crate::{
    clauses,
    error::Finding,
    kernel_fn::{Entry, KernelFn, Kind, Scan},
    lexer::Tokens,
    scope::{self, Scope},
    signature,
};

/// An explicit instantiation: its first token, name, template arguments, host name and comment.
pub(super) type Pending = (usize, String, Vec<String>, Option<String>, Option<String>);

/// Reads the declaration that token `at` belongs to.
pub(super) fn read(
    t: &Tokens,
    scopes: &[Scope],
    barriers: &HashSet<String>,
    at: usize,
    out: &mut Scan,
    pending: &mut Vec<Pending>,
) {
    let start = scope::statement_start(t, at);
    let mut attrs = Vec::new();
    let mut template = None;
    let mut i = start;
    let explicit = t.at(start) == "template" && t.at(start + 1) != "<";
    let doc = t.tokens[start].doc.clone();
    // The head: attributes, `template <...>`, return type, name, then `(`.
    let mut open = None;
    while i < t.len() && t.at(i) != ";" && t.at(i) != "{" {
        if t.is_attribute(i) {
            let end = t.matching(i);
            signature::attributes(t, i + 2, end - 1, &mut attrs);
            i = end + 1;
        } else if t.at(i) == "template" && t.at(i + 1) == "<" {
            let Some(end) = t.matching_angle(i + 1) else {
                return;
            };
            template = Some((i + 1, end));
            i = end + 1;
        } else if t.at(i) == "decltype" || t.at(i) == "__attribute__" {
            i = t.matching(i + 1) + 1;
        } else if t.at(i) == "<" && explicit {
            // Arguments may have parentheses: `gemv<float, (bool)1>`.
            i = t.matching_angle(i).unwrap_or(i) + 1;
        } else if t.at(i) == "(" {
            open = Some(i);
            break;
        } else {
            i += 1;
        }
    }
    let host_name = attrs
        .iter()
        .find(|a| a.0 == "host_name")
        // Adjacent literals are one string.
        .map(|a| a.1.split('"').skip(1).step_by(2).collect::<String>());
    if explicit {
        let end = (i..t.len()).find(|&k| t.at(k) == ";").unwrap_or(i);
        out.instantiations.push((start, end + 1));
        let stop = open.unwrap_or(end);
        match template_id(t, stop) {
            Some((name, args)) => pending.push((start, name, args, host_name, doc)),
            None => out.findings.push(Finding {
                file: t.tokens[start].file.to_string(),
                line: t.tokens[start].line,
                rule: "kernel-instantiation",
                message: "an instantiation without template arguments".into(),
                remedy:
                    "write them: `template [[host_name(\"f_float\")]] kernel void f<float>(...);`",
            }),
        }
        return;
    }
    let Some(open) = open else { return };
    let close = t.matching(open);
    let body = close + 1;
    if t.at(body) != "{" {
        return;
    }
    let name_at = open - 1;
    let finding = |line_at: usize, rule, message, remedy| Finding {
        file: t.tokens[line_at].file.to_string(),
        line: t.tokens[line_at].line,
        rule,
        message,
        remedy,
    };
    let params = match signature::parse(t, open) {
        Ok(p) => p,
        Err((at, rule, message, remedy)) => {
            let message = format!("kernel `{}`: {message}", t.at(name_at));
            out.findings.push(finding(at, rule, message, remedy));
            return;
        }
    };
    let end = t.matching(body);
    let kind = kind(t, &params, barriers, body, end);
    let guard = guard(t, &params, body);
    let lane_guard_missing = kind == Kind::FlatLane
        && guard.is_none()
        && t.at(body + 1) == "if"
        && (body + 2..t.matching(body + 2)).any(|k| t.at(k) == ">" && t.at(k + 1) == "=");
    if lane_guard_missing {
        out.findings.push(finding(
            body + 1,
            "lane-guard",
            format!(
                "kernel `{}`: the guard of a lane kernel is not of the plain form",
                t.at(name_at)
            ),
            "begin with exactly `if (gid >= EXPRESSION_OF_PARAMETERS) return;`",
        ));
    }
    let mut name = scopes[at].namespaces.join("::");
    if !name.is_empty() {
        name.push_str("::");
    }
    name.push_str(t.at(name_at));
    let max_threads = attrs
        .iter()
        .find(|a| a.0 == "max_total_threads_per_threadgroup")
        .and_then(|a| a.1.trim_end_matches(['u', 'U']).parse().ok())
        .unwrap_or(1024);
    let mut function = KernelFn {
        name: name.clone(),
        params,
        template: template.map(|(a, b)| template_params(t, a, b)),
        template_tokens: template,
        params_tokens: (open, close + 1),
        range: (start, end + 1),
        guard,
        kind,
        matrices: false,
        host_name: host_name.clone(),
        max_threads,
        doc: doc.unwrap_or_default(),
        doc_file: t.tokens[start].file.to_string(),
        doc_end: t.tokens[start].line,
        clauses: clauses::Clauses::default(),
        file: t.tokens[name_at].file.to_string(),
        line: t.tokens[name_at].line,
    };
    let (read, wrong) = clauses::read(&function);
    function.clauses = read;
    out.findings.extend(wrong);
    if function.template.is_none() {
        out.entries.push(Entry {
            name: host_name.unwrap_or_else(|| t.at(name_at).to_string()),
            reference: name,
            substitution: HashMap::new(),
            function: out.functions.len(),
            doc: function.doc.clone(),
        });
    }
    out.functions.push(function);
}
