//! Finds the kernels of a preprocessed file.

use std::collections::{HashMap, HashSet};

use crate::{
    error::Finding,
    lexer::{TokenKind, Tokens},
    scope::{self, Scope},
    signature::{self, Param, ParamKind},
};

/// How a kernel runs on the CPU; see `KernelKind` of `openvm-metal-common`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Loop over threads.
    Flat,
    /// Loop over vectors of threads.
    FlatLane,
    /// Barriers or SIMD-group operations.
    Barrier,
    /// Barriers, with a version in which a threadgroup is a vector.
    BarrierLane,
}

impl Kind {
    /// Has a lane version.
    pub fn lanes(self) -> bool {
        matches!(self, Self::FlatLane | Self::BarrierLane)
    }

    /// Uses barriers or SIMD-group operations.
    pub fn barriers(self) -> bool {
        matches!(self, Self::Barrier | Self::BarrierLane)
    }
}

/// `if (gid >= bound) return;` at the head of a kernel.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Tokens of the whole statement.
    pub statement: (usize, usize),
    /// Tokens of the condition.
    pub condition: (usize, usize),
    /// Text of the bound.
    pub bound: String,
}

/// A `kernel` function or function template.
#[derive(Clone, Debug)]
pub struct KernelFn {
    /// Name with its namespaces.
    pub name: String,
    /// Parameters.
    pub params: Vec<Param>,
    /// Names and defaults of template parameters, if a template.
    pub template: Option<Vec<(String, Option<String>)>>,
    /// Tokens of the template parameter list `<...>`.
    pub template_tokens: Option<(usize, usize)>,
    /// Tokens of the parameter list, both parentheses included.
    pub params_tokens: (usize, usize),
    /// Tokens of the whole definition.
    pub range: (usize, usize),
    /// Hoistable guard.
    pub guard: Option<Guard>,
    /// Kind.
    pub kind: Kind,
    /// Names the entry when not a template: `[[host_name("...")]]` or the plain name.
    pub host_name: Option<String>,
    /// `[[max_total_threads_per_threadgroup(n)]]`
    pub max_threads: u32,
    /// Comment above.
    pub doc: String,
    /// Original position.
    pub file: String,
    /// Original line.
    pub line: u32,
}

/// One entry point.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name on every target.
    pub name: String,
    /// C++ expression that names the function, for example `fold<Fp>`.
    pub reference: String,
    /// Template arguments by parameter name.
    pub substitution: HashMap<String, String>,
    /// Index into [`Scan::functions`].
    pub function: usize,
    /// Comment above the instantiation, else above the function.
    pub doc: String,
}

/// Everything found in a file.
#[derive(Debug, Default)]
pub struct Scan {
    /// Kernel functions and templates.
    pub functions: Vec<KernelFn>,
    /// Entry points in order.
    pub entries: Vec<Entry>,
    /// Token ranges of explicit instantiations, which the rewriter removes.
    pub instantiations: Vec<(usize, usize)>,
    /// What stopped the scanner.
    pub findings: Vec<Finding>,
}

/// Scans a preprocessed file.
pub fn scan(t: &Tokens) -> Scan {
    let scopes = scope::scopes(t);
    let barriers = barrier_functions(t, &scopes);
    let mut out = Scan::default();
    let mut pending = Vec::new();
    for i in 0..t.len() {
        if t.at(i) != "kernel" || scopes[i].in_function || t.tokens[i].kind != TokenKind::Ident {
            continue;
        }
        declaration(t, &scopes, &barriers, i, &mut out, &mut pending);
    }
    for (i, name, args, host, doc) in pending {
        instantiate(t, i, &name, &args, host, doc, &mut out);
    }
    let mut seen = HashSet::new();
    for e in &out.entries {
        if !seen.insert(e.name.clone()) {
            let f = &out.functions[e.function];
            out.findings.push(Finding {
                file: f.file.clone(),
                line: f.line,
                rule: "kernel-name",
                message: format!("two kernels are called `{}`", e.name),
                remedy: "give each its own name or [[host_name]]",
            });
        }
    }
    out
}

type Pending = (usize, String, Vec<String>, Option<String>, Option<String>);

fn declaration(
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
        if let Some((name, args)) = template_id(t, stop) {
            pending.push((start, name, args, host_name, doc));
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
    let function = KernelFn {
        name: name.clone(),
        params,
        template: template.map(|(a, b)| template_params(t, a, b)),
        template_tokens: template,
        params_tokens: (open, close + 1),
        range: (start, end + 1),
        guard,
        kind,
        host_name: host_name.clone(),
        max_threads,
        doc: doc.unwrap_or_default(),
        file: t.tokens[name_at].file.to_string(),
        line: t.tokens[name_at].line,
    };
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

/// `name<args>` that ends before token `stop`.
fn template_id(t: &Tokens, stop: usize) -> Option<(String, Vec<String>)> {
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

fn instantiate(
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

fn template_params(t: &Tokens, open: usize, close: usize) -> Vec<(String, Option<String>)> {
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

fn is_barrier_name(name: &str) -> bool {
    name == "threadgroup_barrier"
        || name.starts_with("simd_")
        || name.starts_with("simdgroup_")
        || name.starts_with("quad_")
}

fn called(t: &Tokens, i: usize) -> bool {
    t.tokens[i].kind == TokenKind::Ident && matches!(t.at(i + 1), "(" | "<")
}

/// Names of functions that reach a barrier or SIMD-group operation.
fn barrier_functions(t: &Tokens, scopes: &[Scope]) -> HashSet<String> {
    let mut calls: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (i, scope) in scopes.iter().enumerate() {
        if scope.in_function || t.tokens[i].kind != TokenKind::Ident || t.at(i + 1) != "(" {
            continue;
        }
        let mut body = t.matching(i + 1) + 1;
        while matches!(
            t.at(body),
            "const" | "device" | "thread" | "constant" | "threadgroup" | "noexcept"
        ) {
            body += 1;
        }
        if t.at(body) == "{" {
            let end = t.matching(body);
            let names = (body..end).filter(|&k| called(t, k)).map(|k| t.at(k));
            calls.entry(t.at(i)).or_default().extend(names);
        }
    }
    let mut out: HashSet<String> = HashSet::new();
    loop {
        let before = out.len();
        for (name, inner) in &calls {
            if inner.iter().any(|n| is_barrier_name(n) || out.contains(*n)) {
                out.insert((*name).to_string());
            }
        }
        if out.len() == before {
            return out;
        }
    }
}

fn kind(t: &Tokens, params: &[Param], barriers: &HashSet<String>, body: usize, end: usize) -> Kind {
    let in_body = (body..end).any(|i| {
        t.at(i) == "threadgroup"
            || (called(t, i) && (is_barrier_name(t.at(i)) || barriers.contains(t.at(i))))
    });
    let in_params = params.iter().any(|p| match &p.kind {
        ParamKind::Threadgroup => true,
        ParamKind::Builtin(b) => b.contains("simdgroup") || p.element == "tid_l",
        _ => false,
    });
    let lanes = params.iter().any(Param::is_lane);
    match (in_body || in_params, lanes) {
        (false, false) => Kind::Flat,
        (false, true) => Kind::FlatLane,
        (true, false) => Kind::Barrier,
        (true, true) => Kind::BarrierLane,
    }
}

fn guard(t: &Tokens, params: &[Param], body: usize) -> Option<Guard> {
    let gid = params
        .iter()
        .find(|p| p.kind == ParamKind::Builtin("thread_position_in_grid".into()))?;
    let i = body + 1;
    if t.at(i) != "if" || t.at(i + 1) != "(" || t.at(i + 2) != gid.name {
        return None;
    }
    let close = t.matching(i + 1);
    let vector = t.at(i + 3) == "." && t.at(i + 4) == "x";
    let op = if vector { i + 5 } else { i + 3 };
    let plain = t.at(op) == ">" && t.at(op + 1) == "=";
    let returns = t.at(close + 1) == "return" && t.at(close + 2) == ";";
    let uses_gid = (op + 2..close).any(|k| t.at(k) == gid.name);
    let logic = (op + 2..close)
        .any(|k| matches!(t.at(k), "|" | "&" | "?") && t.at(k) == t.at(k + 1) || t.at(k) == "?");
    (plain && returns && !uses_gid && !logic).then(|| Guard {
        statement: (i, close + 3),
        condition: (i + 2, close),
        bound: t.join(op + 2, close),
    })
}
