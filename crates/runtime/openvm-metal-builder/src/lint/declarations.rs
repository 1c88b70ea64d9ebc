//! Pointers, globals, members, overloads and threadgroup arrays.

use std::collections::{HashMap, HashSet};

use crate::{
    error::Finding, lexer::TokenKind, lint::Source, scope::statement_start, signature::ParamKind,
};

const SPACES: [&str; 5] = [
    "device",
    "constant",
    "thread",
    "threadgroup",
    "threadgroup_imageblock",
];

/// Most threads of a declared limit with which barriers are dropped, as all threads are in one SIMD-group.
const LOST_BARRIERS: u32 = 32;

pub(crate) fn check(s: &Source<'_>, out: &mut Vec<Finding>) {
    pointers(s, out);
    globals(s, out);
    members(s, out);
    overloads(s, out);
    threadgroup_arrays(s, out);
    tables(s, out);
    kernels(s, out);
}

/// `T* name` or `T& name` in a declaration without an address space.
fn pointers(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    for i in 1..t.len().saturating_sub(1) {
        if !matches!(t.at(i), "*" | "&") || t.at(i + 1) == t.at(i) || t.at(i - 1) == t.at(i) {
            continue;
        }
        // A declarator: type before it, and `,` `)` `;` `=` `[` or a name followed by one of them after it.
        let mut name = i + 1;
        while t.at(name) == "const" {
            name += 1;
        }
        let named = t.tokens[name].kind == TokenKind::Ident;
        let next = if named { name + 1 } else { name };
        let ends = matches!(t.at(next), "," | ")" | ";" | "=" | "[" | ":" | ">");
        let type_before = t.tokens[i - 1].kind == TokenKind::Ident && t.at(i - 1) != "return"
            || t.at(i - 1) == ">";
        if !ends || !type_before {
            continue;
        }
        // Start of the parameter or declaration.
        let mut k = i;
        let mut angle = 0usize;
        while k > 0 {
            match t.at(k - 1) {
                ">" if t.at(k - 2) != "-" => angle += 1,
                "<" if angle > 0 => angle -= 1,
                "(" | "," | ";" | "{" | "}" | "<" | "=" | ":" | "?" | "return" if angle == 0 => {
                    break
                }
                ")" | "]" => break,
                _ => {}
            }
            k -= 1;
        }
        let opener = if k > 0 { t.at(k - 1) } else { ";" };
        let parameter =
            matches!(opener, "(" | ",") && !s.scopes[k].in_function && is_parameter_list(s, k - 1);
        let statement =
            matches!(opener, ";" | "{" | "}") && (named && matches!(t.at(next), "=" | ";" | "["));
        if !(parameter || statement) {
            continue;
        }
        let words: Vec<&str> = (k..i).map(|n| t.at(n)).collect();
        let plain = words.iter().enumerate().all(|(n, w)| {
            t.tokens[k + n].kind == TokenKind::Ident || matches!(*w, "::" | "<" | ">" | ",")
        });
        // Expressions such as `a * b;` do not occur as statements; a lone `x * y = ...` is not C++ either.
        if plain
            && !words.iter().any(|w| {
                SPACES.contains(w) || matches!(*w, "auto" | "typedef" | "using" | "typename")
            })
        {
            out.push(s.finding(
                i,
                "address-space",
                format!("`{} {}` has no address space", words.join(" "), t.at(i)),
                "write device, constant, thread or threadgroup before the type",
            ));
        }
    }
}

/// True if token `at` (an opening parenthesis or a comma) belongs to the parameter list of a function.
fn is_parameter_list(s: &Source<'_>, at: usize) -> bool {
    let mut depth = 0i32;
    let mut k = at;
    loop {
        match s.t.at(k) {
            ")" => depth += 1,
            "(" if depth == 0 => break,
            "(" => depth -= 1,
            ";" | "{" | "}" => return false,
            _ => {}
        }
        if k == 0 {
            return false;
        }
        k -= 1;
    }
    let before = k.checked_sub(1).map_or("", |b| s.t.at(b));
    let close = s.t.matching(k);
    before != "decltype"
        && matches!(
            s.t.at(close + 1),
            "{" | ";" | "const" | "thread" | "device" | ":" | "constant" | "threadgroup"
        )
}

/// A variable at namespace scope that is not `constant`.
fn globals(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    let mut i = 0;
    while i < t.len() {
        let scope = &s.scopes[i];
        if scope.in_function
            || scope.in_type
            || t.tokens[i].kind == TokenKind::Directive
            || statement_start(t, i) != i
        {
            i += 1;
            continue;
        }
        let mut end = i;
        let mut call = false;
        let mut assigned = false;
        while end < t.len() && t.at(end) != ";" && t.at(end) != "}" {
            match t.at(end) {
                "[" if t.is_attribute(end) => end = t.matching(end),
                "(" => {
                    call |= !assigned && !matches!(t.at(end - 1), "alignas" | "decltype");
                    end = t.matching(end);
                }
                "=" => assigned = true,
                "{" if assigned => end = t.matching(end),
                "{" => break,
                "[" => end = t.matching(end),
                _ => {}
            }
            end += 1;
        }
        let words: Vec<&str> = (i..end).map(|k| t.at(k)).collect();
        let declares = t.at(end) == ";" && words.len() >= 2 && !call;
        let other = words.iter().any(|w| {
            matches!(
                *w,
                "constant"
                    | "using"
                    | "typedef"
                    | "struct"
                    | "class"
                    | "enum"
                    | "union"
                    | "template"
                    | "namespace"
                    | "extern"
                    | "static_assert"
                    | "friend"
            )
        });
        if declares && !other && t.tokens[i].kind == TokenKind::Ident {
            out.push(s.finding(
                i,
                "mutable-global",
                format!(
                    "`{}` is a variable at namespace scope",
                    words[..words.len().min(4)].join(" ")
                ),
                "make it `constant`, or pass a buffer",
            ));
        }
        i = end.max(i) + 1;
    }
}

/// Functions of a struct that may change it: not callable on objects in device memory.
fn members(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    for i in 1..t.len() {
        let scope = &s.scopes[i];
        if t.at(i) != "(" || !scope.in_type || scope.in_function {
            continue;
        }
        let start = statement_start(t, i);
        let close = t.matching(i);
        let words: Vec<&str> = (start..i).map(|k| t.at(k)).collect();
        let is_operator = words.contains(&"operator");
        let nested = !is_operator && (start..i).any(|k| t.at(k) == "(" || t.at(k) == "=");
        if nested
            || words.iter().any(|w| {
                matches!(
                    *w,
                    "static" | "friend" | "using" | "alignas" | "static_assert"
                )
            })
        {
            continue;
        }
        // A constructor has no return type: only its name before the parenthesis.
        let bare = words
            .iter()
            .filter(|w| {
                !matches!(
                    **w,
                    "constexpr" | "explicit" | "inline" | "METAL_FUNC" | "template"
                )
            })
            .count();
        let template_ctor =
            words.first() == Some(&"template") && words.len() >= 2 && words[words.len() - 2] == ">";
        if (bare <= 1 && !is_operator) || template_ctor || t.tokens[i - 1].kind == TokenKind::Number
        {
            continue;
        }
        let mut k = close + 1;
        let mut is_const = false;
        while matches!(
            t.at(k),
            "const" | "thread" | "device" | "constant" | "threadgroup" | "noexcept"
        ) {
            is_const |= t.at(k) == "const";
            k += 1;
        }
        if !is_const && matches!(t.at(k), "{" | ";") {
            out.push(s.finding(
                i,
                "mutating-member",
                format!("member function `{}` may change its object", t.at(i - 1)),
                "make it const, or a free function on values",
            ));
        }
    }
}

/// Functions whose parameters differ in nothing but address spaces.
fn overloads(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    let mut seen: HashMap<(Vec<&str>, usize), Vec<&str>> = HashMap::new();
    let mut block = vec![0usize];
    let mut next = 0;
    for i in 1..t.len() {
        match t.at(i) {
            "{" => {
                next += 1;
                block.push(next);
            }
            "}" if block.len() > 1 => {
                block.pop();
            }
            "(" if !s.scopes[i].in_function && t.tokens[i - 1].kind == TokenKind::Ident => {
                let close = t.matching(i);
                let mut k = close + 1;
                while SPACES.contains(&t.at(k)) || matches!(t.at(k), "const" | "noexcept") {
                    k += 1;
                }
                let start = statement_start(t, i);
                if t.at(k) != "{" || t.at(start) == "template" {
                    continue;
                }
                let all: Vec<&str> = (start..k).map(|n| t.at(n)).collect();
                let bare = all
                    .iter()
                    .filter(|w| !SPACES.contains(w) && **w != "const")
                    .copied()
                    .collect();
                let key = (bare, *block.last().unwrap_or(&0));
                if let Some(old) = seen.get(&key) {
                    if *old != all {
                        out.push(s.finding(
                            i,
                            "address-space-overload",
                            format!("`{}` is overloaded on address spaces only", t.at(i - 1)),
                            "use one template over the pointer type, or pass values",
                        ));
                    }
                } else {
                    seen.insert(key, all);
                }
            }
            _ => {}
        }
    }
}

/// `threadgroup` variables: in kernels only, plain, one declaration, no initialiser.
fn threadgroup_arrays(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    for i in 0..t.len() {
        if t.at(i) != "threadgroup" || !s.scopes[i].in_function || statement_start(t, i) != i {
            continue;
        }
        let mut end = i;
        while end < t.len() && !matches!(t.at(end), ";" | "=" | "{" | "}") {
            end += 1;
        }
        if (i..end).any(|k| matches!(t.at(k), "*" | "&")) {
            continue;
        }
        if t.at(end) != ";" {
            out.push(s.finding(
                i,
                "threadgroup-initialiser",
                "a threadgroup variable has an initialiser".into(),
                "declare it plainly and fill it in a loop, then a barrier",
            ));
        }
        let in_kernel = s
            .scan
            .functions
            .iter()
            .any(|f| (f.range.0..f.range.1).contains(&i));
        if !in_kernel {
            out.push(s.finding(
                i,
                "threadgroup-in-function",
                "threadgroup variables can be declared in kernels only".into(),
                "declare it in the kernel and pass a threadgroup pointer",
            ));
        }
    }
}

/// Constant tables passed by pointer instead of indexed directly.
fn tables(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    let mut names = HashSet::new();
    for i in 0..t.len() {
        if t.at(i) == "constant" && !s.scopes[i].in_function && statement_start(t, i) == i {
            let array = (i..t.len()).find(|&k| matches!(t.at(k), "[" | ";" | "=" | "("));
            if let Some(k) = array.filter(|&k| t.at(k) == "[" && !t.is_attribute(k)) {
                names.insert(t.at(k - 1));
            }
        }
    }
    for i in 1..t.len() {
        let used = s.scopes[i].in_function
            && t.tokens[i].kind == TokenKind::Ident
            && names.contains(t.at(i));
        if used
            && matches!(t.at(i - 1), "(" | "," | "=")
            && matches!(t.at(i + 1), ")" | "," | ";" | "+")
            && t.at(i - 2) != "sizeof"
        {
            out.push(s.finding(
                i,
                "constant-table-pointer",
                format!("the table `{}` is passed by pointer", t.at(i)),
                "index it directly",
            ));
        }
    }
}

/// A limit of threads that does not stand before its kernel in `[[...]]`: nothing else is read.
fn misplaced_limits(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    let heads = || {
        let functions = s.scan.functions.iter();
        let heads = functions.map(|f| (f.range.0, f.params_tokens.0));
        heads.chain(s.scan.instantiations.iter().copied())
    };
    for i in (0..t.len()).filter(|&i| t.at(i) == "max_total_threads_per_threadgroup") {
        // A kernel that another rule refuses has no head.
        let mut behind = (i..t.len())
            .map(|k| t.at(k))
            .take_while(|w| !matches!(*w, "{" | ";"));
        let read =
            heads().any(|(from, to)| (from..to).contains(&i)) || behind.any(|w| w == "kernel");
        let open = (0..i).rev().find(|&k| t.is_attribute(k));
        if !read || open.is_none_or(|open| t.matching(open) <= i) {
            out.push(s.finding(
                i,
                "thread-limit",
                "a limit of threads that does not stand before a kernel".into(),
                "write `[[max_total_threads_per_threadgroup(n)]]` before the kernel",
            ));
        }
    }
}

fn kernels(s: &Source<'_>, out: &mut Vec<Finding>) {
    misplaced_limits(s, out);
    for f in &s.scan.functions {
        let head = s.t.join(f.range.0, f.params_tokens.0);
        if !head.split_whitespace().any(|w| w == "void") {
            out.push(s.finding(
                f.params_tokens.0,
                "kernel-return",
                format!("kernel `{}` returns a value", f.name),
                "return void and write to a buffer",
            ));
        }
        if f.max_threads == 0 || f.max_threads > 1024 {
            out.push(s.finding(
                f.params_tokens.0,
                "max-threads",
                format!(
                    "kernel `{}` asks for {} threads per threadgroup",
                    f.name, f.max_threads
                ),
                "use at most 1024",
            ));
        }
        if (1..=LOST_BARRIERS).contains(&f.max_threads) {
            out.push(s.finding(
                f.params_tokens.0,
                "thread-limit",
                format!(
                    "kernel `{}` is limited to {} threads per threadgroup: Apple's compiler drops the barriers of such kernels",
                    f.name, f.max_threads
                ),
                "declare 64 or more, and launch as few threads as wanted",
            ));
        }
        let params = s.t.join(f.params_tokens.0, f.params_tokens.1);
        for p in &f.params {
            let buffer = matches!(p.kind, ParamKind::Buffer { .. } | ParamKind::Value);
            let explicit = params.contains(&format!("{} [[buffer(", p.name))
                || params.contains(&format!("{}[[buffer(", p.name));
            if buffer && !explicit {
                out.push(Finding {
                    file: f.file.clone(),
                    line: p.line,
                    rule: "buffer-index",
                    message: format!("`{}` of kernel `{}` has no index", p.name, f.name),
                    remedy: "write [[buffer(n)]]",
                });
            }
        }
    }
}
