//! One declaration that begins with `kernel`: a function, a template or an explicit instantiation.

use std::collections::{HashMap, HashSet};

use super::{
    kind::{guard, kind},
    number,
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
    let Some(head) = Head::read(t, start) else {
        return;
    };
    if head.explicit {
        instantiation(t, head, out, pending);
        return;
    }
    let namespaces = scopes[at].namespaces.join("::");
    function(t, head, &namespaces, barriers, out);
}

/// Attributes, `template <...>`, return type, name, up to `(`.
struct Head {
    start: usize,
    /// An explicit instantiation: `template` without parameters.
    explicit: bool,
    attributes: Vec<(String, String)>,
    /// Range of the template's parameters.
    template: Option<(usize, usize)>,
    /// The parenthesis that opens the parameters, if there is one.
    open: Option<usize>,
    /// The first token that is not of the head.
    end: usize,
}

impl Head {
    fn read(t: &Tokens, start: usize) -> Option<Self> {
        let explicit = t.at(start) == "template" && t.at(start + 1) != "<";
        let (mut attributes, mut template, mut open) = (Vec::new(), None, None);
        let mut i = start;
        while i < t.len() && t.at(i) != ";" && t.at(i) != "{" {
            if t.is_attribute(i) {
                let end = t.matching(i);
                signature::attributes(t, i + 2, end - 1, &mut attributes);
                i = end + 1;
            } else if t.at(i) == "template" && t.at(i + 1) == "<" {
                let end = t.matching_angle(i + 1)?;
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
        Some(Self {
            start,
            explicit,
            attributes,
            template,
            open,
            end: i,
        })
    }

    fn host_name(&self) -> Option<String> {
        let attribute = self.attributes.iter().find(|a| a.0 == "host_name")?;
        // Adjacent literals are one string.
        Some(attribute.1.split('"').skip(1).step_by(2).collect())
    }

    fn declared_threads(&self) -> Option<&(String, String)> {
        let mut attributes = self.attributes.iter();
        attributes.find(|a| a.0 == "max_total_threads_per_threadgroup")
    }

    /// 1024 without the attribute; `None` of an expression without a value.
    fn max_threads(&self, t: &Tokens) -> Option<u32> {
        let declared = self.declared_threads();
        declared.map_or(Some(1024), |a| number::value(t, &a.1))
    }
}

fn finding(
    t: &Tokens,
    at: usize,
    rule: &'static str,
    message: String,
    remedy: &'static str,
) -> Finding {
    Finding {
        file: t.tokens[at].file.to_string(),
        line: t.tokens[at].line,
        rule,
        message,
        remedy,
    }
}

fn instantiation(t: &Tokens, head: Head, out: &mut Scan, pending: &mut Vec<Pending>) {
    let start = head.start;
    let end = (head.end..t.len())
        .find(|&k| t.at(k) == ";")
        .unwrap_or(head.end);
    out.instantiations.push((start, end + 1));
    match template_id(t, head.open.unwrap_or(end)) {
        Some((name, args)) => {
            let doc = t.tokens[start].doc.clone();
            pending.push((start, name, args, head.host_name(), doc));
        }
        None => out.findings.push(finding(
            t,
            start,
            "kernel-instantiation",
            "an instantiation without template arguments".into(),
            "write them: `template [[host_name(\"f_float\")]] kernel void f<float>(...);`",
        )),
    }
}

fn function(t: &Tokens, head: Head, namespaces: &str, barriers: &HashSet<String>, out: &mut Scan) {
    let Some(open) = head.open else { return };
    let close = t.matching(open);
    let body = close + 1;
    if t.at(body) != "{" {
        return;
    }
    let name_at = open - 1;
    let params = match signature::parse(t, open) {
        Ok(p) => p,
        Err((at, rule, message, remedy)) => {
            let message = format!("kernel `{}`: {message}", t.at(name_at));
            out.findings.push(finding(t, at, rule, message, remedy));
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
            t,
            body + 1,
            "lane-guard",
            format!(
                "kernel `{}`: the guard of a lane kernel is not of the plain form",
                t.at(name_at)
            ),
            "begin with exactly `if (gid >= EXPRESSION_OF_PARAMETERS) return;`",
        ));
    }
    let max_threads = head.max_threads(t);
    if max_threads.is_none() {
        out.findings.push(finding(
            t,
            open,
            "max-threads",
            format!(
                "kernel `{}`: the value of max_total_threads_per_threadgroup is not known",
                t.at(name_at)
            ),
            "write a number, or a constant of the file",
        ));
    }
    let separator = if namespaces.is_empty() { "" } else { "::" };
    let name = format!("{namespaces}{separator}{}", t.at(name_at));
    let (host_name, first) = (head.host_name(), &t.tokens[head.start]);
    let mut function = KernelFn {
        name: name.clone(),
        params,
        template: head.template.map(|(a, b)| template_params(t, a, b)),
        template_tokens: head.template,
        params_tokens: (open, close + 1),
        range: (head.start, end + 1),
        guard,
        kind,
        matrices: false,
        host_name: host_name.clone(),
        max_threads: max_threads.unwrap_or(1024),
        declares_threads: head.declared_threads().is_some(),
        doc: first.doc.clone().unwrap_or_default(),
        doc_file: first.file.to_string(),
        doc_end: first.line,
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
