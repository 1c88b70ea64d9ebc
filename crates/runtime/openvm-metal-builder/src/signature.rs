//! Parameters of a kernel.

use crate::lexer::{TokenKind, Tokens};

/// Index of the argument that tells a kernel its slice. The words: position of the first threadgroup, of the first thread; threadgroups,
/// threads of the grid.
pub const SLICE_BUFFER: u8 = 30;

/// Name of the added argument, and prefix of the positions as Metal gives them.
pub(crate) const SLICE_NAME: &str = "msl_slice";

/// Kind of value that the host passes for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// `device T*`, `constant T*`, `device T&`; `writes` if not const.
    Buffer {
        /// The kernel may write it.
        writes: bool,
    },
    /// `constant T&`
    Value,
    /// `threadgroup T*`
    Threadgroup,
    /// A thread position or size; the attribute's name.
    Builtin(String),
}

/// One parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Name, `argN` if it has none.
    pub name: String,
    /// Position in the declaration.
    pub position: usize,
    /// `n` of `[[buffer(n)]]` or `[[threadgroup(n)]]`; 0 for builtins.
    pub index: u8,
    /// Kind.
    pub kind: ParamKind,
    /// Type without address space, `const`, `*` and `&`, tokens joined by spaces.
    pub element: String,
    /// Original line.
    pub line: u32,
    /// The tokens, attributes included.
    pub tokens: (usize, usize),
    /// The token of the name, if it has one.
    pub name_token: Option<usize>,
}

impl Param {
    /// True for a parameter that marks a lane kernel.
    pub fn is_lane(&self) -> bool {
        matches!(
            self.element.as_str(),
            "gid_l" | "gid2_l" | "gid3_l" | "tid_l" | "index_l"
        )
    }
}

/// Names of the builtin attributes and the member of `msl_ctx` that gives each.
pub const BUILTINS: &[(&str, &str)] = &[
    ("thread_position_in_grid", "gpos"),
    ("thread_position_in_threadgroup", "lpos"),
    ("threadgroup_position_in_grid", "tgpos"),
    ("threads_per_threadgroup", "tpg"),
    ("dispatch_threads_per_threadgroup", "tpg"),
    ("threadgroups_per_grid", "ntg"),
    ("threads_per_grid", "grid"),
    ("thread_index_in_threadgroup", "lidx"),
    ("thread_index_in_simdgroup", "lane"),
    ("simdgroup_index_in_threadgroup", "sg"),
    ("simdgroups_per_threadgroup", "nsg"),
    ("dispatch_simdgroups_per_threadgroup", "nsg"),
    ("threads_per_simdgroup", "simdw"),
    ("quadgroup_index_in_threadgroup", "quad"),
    ("thread_index_in_quadgroup", "quadlane"),
];

/// A rejected parameter: token index, rule, message, remedy.
pub type Rejected = (usize, &'static str, String, &'static str);

struct Raw {
    tokens: Vec<usize>,
    attributes: Vec<(String, String)>,
    range: (usize, usize),
}

/// Reads the parameter list whose `(` is token `open`.
pub fn parse(t: &Tokens, open: usize) -> Result<Vec<Param>, Rejected> {
    let close = t.matching(open);
    let raws = split(t, open + 1, close);
    let mut params = Vec::new();
    for (position, raw) in raws.iter().enumerate() {
        if let Some(p) = param(t, raw, position)? {
            params.push((p, raw.attributes.iter().any(|a| a.0 == "buffer")));
        }
    }
    // Buffers without an attribute take the free indices in order, as Apple's compiler does.
    let mut used: Vec<u8> = params.iter().filter(|p| p.1).map(|p| p.0.index).collect();
    for (p, explicit) in &mut params {
        let buffer = matches!(p.kind, ParamKind::Buffer { .. } | ParamKind::Value);
        if buffer && !*explicit {
            p.index = (0..=u8::MAX).find(|n| !used.contains(n)).unwrap_or(0);
            used.push(p.index);
        }
        let limit = if buffer { SLICE_BUFFER } else { 8 };
        let slice = buffer && p.index == SLICE_BUFFER && p.name == SLICE_NAME;
        if p.index >= limit && !slice {
            return Err((
                open,
                "buffer-index",
                format!("index {} of `{}` is out of range", p.index, p.name),
                "use buffer indices 0 to 29 (30 holds the place of a slice) and threadgroup indices 0 to 7",
            ));
        }
    }
    let params: Vec<Param> = params.into_iter().map(|p| p.0).collect();
    for (i, p) in params.iter().enumerate() {
        let tg = p.kind == ParamKind::Threadgroup;
        let host = !matches!(p.kind, ParamKind::Builtin(_));
        let twice = |q: &&Param| {
            let q_tg = q.kind == ParamKind::Threadgroup;
            host && !matches!(q.kind, ParamKind::Builtin(_)) && tg == q_tg && p.index == q.index
        };
        if let Some(q) = params[..i].iter().find(twice) {
            return Err((
                open,
                "buffer-index",
                format!(
                    "`{}` and `{}` have the same index {}",
                    q.name, p.name, p.index
                ),
                "give each buffer its own index",
            ));
        }
    }
    Ok(params)
}

fn split(t: &Tokens, from: usize, to: usize) -> Vec<Raw> {
    let mut out = Vec::new();
    let fresh = |start: usize| Raw {
        tokens: Vec::new(),
        attributes: Vec::new(),
        range: (start, start),
    };
    let mut raw = fresh(from);
    let mut angle = 0usize;
    let mut i = from;
    while i < to {
        if t.is_attribute(i) {
            let end = t.matching(i);
            attributes(t, i + 2, end - 1, &mut raw.attributes);
            i = end + 1;
            raw.range.1 = i;
            continue;
        }
        match t.at(i) {
            "<" => angle += 1,
            ">" => angle = angle.saturating_sub(1),
            "(" | "[" => {
                let end = t.matching(i);
                raw.tokens.extend(i..=end);
                i = end + 1;
                raw.range.1 = i;
                continue;
            }
            "," if angle == 0 => {
                i += 1;
                out.push(std::mem::replace(&mut raw, fresh(i)));
                continue;
            }
            _ => {}
        }
        raw.tokens.push(i);
        i += 1;
        raw.range.1 = i;
    }
    if !raw.tokens.is_empty() {
        out.push(raw);
    }
    out
}

/// Attributes between `from` and `to`: name and the text of the argument.
pub fn attributes(t: &Tokens, from: usize, to: usize, out: &mut Vec<(String, String)>) {
    let mut i = from;
    while i < to {
        let name = t.at(i).to_string();
        if t.at(i + 1) == "(" {
            let end = t.matching(i + 1);
            out.push((name, t.join(i + 2, end)));
            i = end + 1;
        } else {
            out.push((name, String::new()));
            i += 1;
        }
        if t.at(i) == "," || t.at(i) == "::" {
            i += 1;
        }
    }
}

fn param(t: &Tokens, raw: &Raw, position: usize) -> Result<Option<Param>, Rejected> {
    // Default arguments do not matter.
    let end = raw
        .tokens
        .iter()
        .position(|&i| t.at(i) == "=")
        .unwrap_or(raw.tokens.len());
    let mut tokens = raw.tokens[..end].to_vec();
    let Some(&first) = tokens.first() else {
        return Ok(None);
    };
    if tokens.len() == 1 && t.at(first) == "void" {
        return Ok(None);
    }
    let last = tokens[tokens.len() - 1];
    let named = tokens.len() > 1
        && t.tokens[last].kind == TokenKind::Ident
        && !matches!(t.at(last), "const" | "device" | "constant");
    let name = if named {
        tokens.pop();
        t.at(last).to_string()
    } else {
        format!("arg{position}")
    };
    let words: Vec<&str> = tokens.iter().map(|&i| t.at(i)).collect();
    let has = |w: &str| words.contains(&w);
    let pointer = has("*") || has("&");
    let element = words
        .iter()
        .filter(|w| {
            !matches!(
                **w,
                "device"
                    | "constant"
                    | "threadgroup"
                    | "thread"
                    | "const"
                    | "volatile"
                    | "*"
                    | "&"
                    | "metal"
                    | "::"
                    | "restrict"
                    | "__restrict"
                    | "typename"
            )
        })
        .copied()
        .collect::<Vec<_>>()
        .join(" ");
    let make = |index: u8, kind: ParamKind| {
        Ok(Some(Param {
            name: name.clone(),
            position,
            index,
            kind,
            element: element.clone(),
            line: t.tokens[first].line,
            tokens: raw.range,
            name_token: named.then_some(last),
        }))
    };
    let index_of = |attr: &str| {
        raw.attributes
            .iter()
            .find(|a| a.0 == attr)
            .map(|a| a.1.parse::<u8>())
    };
    let not_literal = |_| {
        (
            first,
            "buffer-index",
            format!("the index of `{name}` is not a literal"),
            "write a number, for example [[buffer(0)]]",
        )
    };
    if has("threadgroup") && pointer {
        let index = index_of("threadgroup").transpose().map_err(not_literal)?;
        return make(index.unwrap_or(0), ParamKind::Threadgroup);
    }
    if pointer && (has("device") || has("constant")) {
        let index = index_of("buffer").transpose().map_err(not_literal)?;
        let kind = if has("constant") && has("&") {
            ParamKind::Value
        } else {
            ParamKind::Buffer {
                writes: has("device") && !has("const"),
            }
        };
        return make(index.unwrap_or(0), kind);
    }
    let builtin = raw
        .attributes
        .iter()
        .find(|a| BUILTINS.iter().any(|b| b.0 == a.0));
    match builtin {
        Some(a) => make(0, ParamKind::Builtin(a.0.clone())),
        None if pointer => Err((
            first,
            "address-space",
            format!("parameter `{name}` has no address space"),
            "write device, constant or threadgroup before the type",
        )),
        None => Err((
            first,
            "kernel-parameter",
            format!("parameter `{name}` is neither a buffer nor has a known attribute"),
            "use `constant T&` for values, or an attribute such as [[thread_position_in_grid]]",
        )),
    }
}
