//! The place of a slice in its grid, in the text for Apple GPUs.
//!
//! A long dispatch runs in slices. Metal numbers the threads of each from zero, so every kernel that asks for its
//! position gets one more argument, twelve words that say where the slice begins and how large the grid is, and
//! computes from it what it was written to be given. PTX entries do the same, see `msl_ctx` of the shim; on CPUs the
//! loop over threadgroups begins elsewhere.

use crate::{
    edits::Edits,
    kernel_fn::{KernelFn, Scan},
    lexer::{TokenKind, Tokens},
    signature::{Param, ParamKind, SLICE_BUFFER, SLICE_NAME},
};

/// First of the words of a builtin, and whether they are added to what Metal gives or take its place.
fn words(attribute: &str) -> Option<(usize, bool)> {
    match attribute {
        "threadgroup_position_in_grid" => Some((0, true)),
        "thread_position_in_grid" => Some((3, true)),
        "threadgroups_per_grid" => Some((6, false)),
        "threads_per_grid" => Some((9, false)),
        _ => None,
    }
}

/// The parameter's first word, and whether it is added, if a slice changes it.
fn sliced(p: &Param) -> Option<(usize, bool)> {
    match &p.kind {
        ParamKind::Builtin(attribute) => words(attribute),
        _ => None,
    }
}

/// Components of a position of this type.
fn components(element: &str) -> usize {
    let element = element.strip_suffix("_l").unwrap_or(element);
    match element.as_bytes().last() {
        Some(b'2') => 2,
        Some(b'3') => 3,
        _ => 1,
    }
}

/// `uint gid = uint(msl_slice_gid + msl_slice[3]);`
fn definition(p: &Param, first: usize, added: bool) -> String {
    let (ty, name) = (&p.element, &p.name);
    let count = components(ty);
    let component = |i: usize| {
        let word = format!("{SLICE_NAME}[{}]", first + i);
        match (added, count) {
            (true, 1) => format!("{SLICE_NAME}_{name} + {word}"),
            (true, _) => format!("{SLICE_NAME}_{name}.{} + {word}", ["x", "y", "z"][i]),
            (false, _) => word,
        }
    };
    let all: Vec<String> = (0..count).map(component).collect();
    format!(" {ty} {name} = {ty}({});", all.join(", "))
}

/// The preprocessed text `t` for Apple's compiler, with slices. Kernels that have them already stay as they are.
pub fn with_slices(t: &Tokens, scan: &Scan) -> String {
    let mut e = Edits::new(t);
    for f in &scan.functions {
        kernel(t, f, &mut e);
    }
    for &(from, to) in &scan.instantiations {
        instantiation(t, scan, from, to, &mut e);
    }
    e.apply()
}

fn has_slices(f: &KernelFn) -> bool {
    f.params.iter().any(|p| p.name == SLICE_NAME)
}

fn kernel(t: &Tokens, f: &KernelFn, e: &mut Edits<'_>) {
    let named = |p: &&Param| p.name_token.is_some();
    let changed: Vec<(&Param, usize, bool)> = f
        .params
        .iter()
        .filter(named)
        .filter_map(|p| sliced(p).map(|(first, added)| (p, first, added)))
        .collect();
    if changed.is_empty() || has_slices(f) {
        return;
    }
    let (open, end) = f.params_tokens;
    let mut body = String::new();
    for &(p, first, added) in &changed {
        body += &definition(p, first, added);
        match p.name_token {
            Some(name) if added => e.replace(name, name + 1, &format!("{SLICE_NAME}_{}", p.name)),
            _ => drop_item(t, p.tokens, open, end - 1, e),
        }
    }
    let left = f.params.len() > changed.iter().filter(|c| !c.2).count();
    let comma = if left { ", " } else { "" };
    e.insert(
        end - 1,
        &format!("{comma}constant uint* {SLICE_NAME} [[buffer({SLICE_BUFFER})]]"),
    );
    e.append(end, &body);
}

/// Removes an item of a list with the comma before it, or after it if it is the first.
fn drop_item(t: &Tokens, (from, to): (usize, usize), open: usize, close: usize, e: &mut Edits<'_>) {
    if from > open + 1 && t.at(from - 1) == "," {
        e.remove(from - 1, to);
    } else if to < close && t.at(to) == "," {
        e.remove(from, to + 1);
    } else {
        e.remove(from, to);
    }
}

/// The parameter types of an explicit instantiation follow those of its template.
fn instantiation(t: &Tokens, scan: &Scan, from: usize, to: usize, e: &mut Edits<'_>) {
    // `... name<arguments>(types);`
    let Some(close) = (from..to).rev().find(|&i| t.at(i) == ")") else {
        return;
    };
    let Some(open) = (from..close).find(|&i| t.at(i) == "(" && t.matching(i) == close) else {
        return;
    };
    if t.at(open - 1) != ">" {
        return;
    }
    let name = (from..open).rev().find(|&i| {
        t.tokens[i].kind == TokenKind::Ident
            && t.at(i + 1) == "<"
            && t.matching_angle(i + 1) == Some(open - 1)
    });
    let Some(f) = name.and_then(|name| {
        scan.functions
            .iter()
            .find(|f| f.template.is_some() && f.name.rsplit("::").next() == Some(t.at(name)))
    }) else {
        return;
    };
    let named = |p: &&Param| p.name_token.is_some() && sliced(p).is_some();
    if has_slices(f) || !f.params.iter().any(|p| named(&p)) {
        return;
    }
    let items = items(t, open, close);
    let mut left = items.len();
    for p in f.params.iter().filter(named) {
        if let (Some((_, false)), Some(&item)) = (sliced(p), items.get(p.position)) {
            drop_item(t, item, open, close, e);
            left -= 1;
        }
    }
    let comma = if left > 0 { ", " } else { "" };
    e.insert(close, &format!("{comma}constant uint*"));
}

/// Token ranges of the items of the list between two parentheses.
fn items(t: &Tokens, open: usize, close: usize) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let (mut from, mut i) = (open + 1, open + 1);
    while i < close {
        match t.at(i) {
            "(" | "[" => i = t.matching(i),
            "<" => i = t.matching_angle(i).unwrap_or(i),
            "," => {
                out.push((from, i));
                from = i + 1;
            }
            _ => {}
        }
        i += 1;
    }
    if from < close {
        out.push((from, close));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan;

    fn text(source: &str) -> String {
        let t = Tokens::new(source.into());
        let scan = scan::scan(&t);
        assert!(scan.findings.is_empty(), "{:?}", scan.findings);
        with_slices(&t, &scan)
    }

    #[test]
    fn positions_count_from_the_start_of_the_grid() {
        let out = text(
            "kernel void f(device uint* a [[buffer(0)]], uint i [[thread_position_in_grid]]) { a[i] = i; }",
        );
        assert_eq!(
            out,
            "kernel void f(device uint* a [[buffer(0)]], uint msl_slice_i [[thread_position_in_grid]], \
             constant uint* msl_slice [[buffer(30)]]) { uint i = uint(msl_slice_i + msl_slice[3]); a[i] = i; }"
        );
    }

    #[test]
    fn vectors_keep_their_width_and_lines_their_numbers() {
        let source = "kernel void f(device uint* a,\n    uint2 g [[threadgroup_position_in_grid]],\n    \
                      uint2 n [[threads_per_threadgroup]],\n    ushort lane [[thread_index_in_simdgroup]])\n{\n    a[g.x] = lane;\n}\n";
        let out = text(source);
        assert!(
            out.contains(
                "uint2 g = uint2(msl_slice_g.x + msl_slice[0], msl_slice_g.y + msl_slice[1]);"
            ),
            "{out}"
        );
        assert!(out.contains("uint2 n [[threads_per_threadgroup]]"), "{out}");
        let line = |text: &str| text.lines().position(|l| l.contains("a[g.x]"));
        assert_eq!(line(&out), line(source));
    }

    #[test]
    fn sizes_are_those_of_the_whole_grid() {
        let out = text(
            "kernel void f(uint3 n [[threads_per_grid]], device uint* a, uint3 m [[threadgroups_per_grid]]) \
             { a[0] = n.x + m.y; }",
        );
        assert_eq!(
            out,
            "kernel void f( device uint* a, constant uint* msl_slice [[buffer(30)]]) \
             { uint3 n = uint3(msl_slice[9], msl_slice[10], msl_slice[11]); \
             uint3 m = uint3(msl_slice[6], msl_slice[7], msl_slice[8]); a[0] = n.x + m.y; }"
        );
        let out = text("kernel void g(uint n [[threads_per_grid]]) { (void)n; }");
        assert!(
            out.starts_with("kernel void g(constant uint* msl_slice [[buffer(30)]])"),
            "{out}"
        );
    }

    #[test]
    fn instantiations_follow_their_template() {
        let out = text(
            "template <class T, int N> kernel void f(device T* a, uint m [[threads_per_grid]], uint i [[thread_position_in_grid]]) \
             { a[i] = T(m); }\n\
             template [[host_name(\"f_u\")]] kernel void f<uint, (1 + 1)>(device uint*, uint, uint);\n\
             template [[host_name(\"f_i\")]] [[kernel]] decltype(f<int, 3>) f<int, 3>;\n",
        );
        assert!(
            out.contains("kernel void f<uint, (1 + 1)>(device uint*, uint, constant uint*);"),
            "{out}"
        );
        assert!(out.contains("decltype(f<int, 3>) f<int, 3>;"), "{out}");
    }

    #[test]
    fn the_text_keeps_the_rules_and_is_not_changed_again() {
        let source = "#include <metal_stdlib>\nusing namespace metal;\n\
            kernel void f(device uint* a [[buffer(0)]], uint2 g [[threadgroup_position_in_grid]],\n\
            uint2 n [[threads_per_threadgroup]], uint2 m [[threads_per_grid]]) { a[g.x] = n.x + m.x; }\n\
            template <class T> kernel void h(device T* a [[buffer(0)]], uint i [[thread_position_in_grid]]) { a[i] = T(i); }\n\
            template [[host_name(\"h_u\")]] kernel void h<uint>(device uint*, uint);\n";
        let once = text(source);
        let t = Tokens::new(once.clone());
        let scan = scan::scan(&t);
        assert_eq!(scan.entries.len(), 2);
        let found = crate::lint::tokens(&t, &scan);
        assert!(found.is_empty(), "{found:#?}");
        assert_eq!(text(&once), once);
        // The index is nobody else's.
        let t = Tokens::new("kernel void f(device uint* a [[buffer(30)]]) { a[0] = 0; }".into());
        assert_eq!(scan::scan(&t).findings[0].rule, "buffer-index");
    }

    #[test]
    fn kernels_without_a_position_stay_as_they_are() {
        let source =
            "kernel void f(device uint* a, uint l [[thread_index_in_threadgroup]]) { a[l] = l; }\n\
                      inline uint gid(uint i) { return i; }\n";
        assert_eq!(text(source), source);
    }
}
