//! The functions that launch kernels, typed as their parameters are.

use std::fmt::Write;

use super::{layout, LibraryOutput, UnitOutput, RUNTIME};
use crate::{
    clauses,
    probe::Layout,
    scan::Entry,
    signature::{Param, ParamKind},
    types::identifier,
};

/// Buffers that a launcher takes as one array.
#[derive(Debug, PartialEq, Eq)]
struct Array {
    /// Name of the array: `sources` for `source0`, `source1`, ...
    name: String,
    /// Position of the first.
    first: usize,
    len: usize,
}

impl Array {
    fn holds(&self, p: &Param) -> bool {
        (self.first..self.first + self.len).contains(&p.position)
    }
}

/// Buffers to read whose names are one word and the numbers from 0 on, one after another and of one type.
fn arrays(params: &[Param]) -> Vec<Array> {
    let split = |p: &Param| -> Option<(String, usize)> {
        let word = p.name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = p.name[word.len()..].parse().ok()?;
        let reads = p.kind == ParamKind::Buffer { writes: false };
        (reads && !word.is_empty()).then(|| (word.to_owned(), number))
    };
    let mut arrays: Vec<Array> = Vec::new();
    let mut before: Option<(String, &str)> = None;
    for p in params {
        let Some((word, number)) = split(p) else {
            before = None;
            continue;
        };
        let same = before.as_ref() == Some(&(word.clone(), p.element.as_str()));
        match arrays.last_mut() {
            Some(array) if same && number == array.len => array.len += 1,
            _ if number == 0 => arrays.push(Array {
                name: format!("{word}s"),
                first: p.position,
                len: 1,
            }),
            _ => {
                before = None;
                continue;
            }
        }
        before = Some((word, &p.element));
    }
    arrays.retain(|array| array.len > 1);
    arrays
}

/// Writes the function that launches entry `k` of unit `n`.
pub(super) fn launcher(
    out: &mut String,
    lib: &LibraryOutput<'_>,
    u: &UnitOutput<'_>,
    n: usize,
    k: usize,
    e: &Entry,
) {
    let f = &u.scan.functions[e.function];
    let mut params = String::new();
    let mut calls = String::new();
    let mut asserts = String::new();
    let arrays = arrays(&f.params);
    for p in &f.params {
        let id = identifier(&p.name);
        let ty = lib.types.rust(&p.element, &e.substitution);
        let Layout { size, align } = layout(u, k, p);
        let i = p.index;
        let array = arrays.iter().find(|array| array.holds(p));
        match p.kind {
            ParamKind::Buffer { writes: false } if array.is_some() => {
                let Some(array) = array else { continue };
                let (name, number) = (identifier(&array.name), p.position - array.first);
                if number == 0 {
                    let _ = write!(
                        params,
                        ", {name}: [impl {RUNTIME}::KernelArg<{ty}>; {}]",
                        array.len
                    );
                }
                let _ = write!(calls, ".buffer::<{ty}>({i}, &{name}[{number}])");
            }
            ParamKind::Buffer { writes: false } => {
                let _ = write!(params, ", {id}: impl {RUNTIME}::KernelArg<{ty}>");
                let _ = write!(calls, ".buffer::<{ty}>({i}, &{id})");
            }
            ParamKind::Buffer { writes: true } => {
                let _ = write!(params, ", mut {id}: impl {RUNTIME}::KernelArgMut<{ty}>");
                let _ = write!(calls, ".buffer_mut::<{ty}>({i}, &mut {id})");
            }
            ParamKind::Value => {
                let _ = write!(params, ", {id}: &{ty}");
                let _ = write!(calls, ".value({i}, {id})");
            }
            ParamKind::Threadgroup => {
                let _ = write!(params, ", {id}: {RUNTIME}::ThreadgroupLen");
                let _ = write!(calls, ".threadgroup({i}, {id})");
                continue;
            }
            ParamKind::Builtin(_) => continue,
        }
        let _ = writeln!(
            asserts,
            "    const _: () = assert!(::core::mem::size_of::<{ty}>() == {size} && ::core::mem::align_of::<{ty}>() <= {align}, \
             \"{ty} has another size or alignment than `{}` of kernel {}: {size} and {align} bytes\");",
            p.element, e.name
        );
    }
    for (index, name) in f.clauses.given.iter().enumerate() {
        let id = identifier(name);
        let _ = write!(params, ", {id}: u64");
        let _ = write!(calls, ".given({index}, {id})");
    }
    let doc = if e.doc.is_empty() {
        format!("Kernel `{}` of `{}.metal`.", e.name, u.name)
    } else {
        e.doc.clone()
    };
    for line in clauses::documentation(&doc) {
        let _ = writeln!(out, "#[doc = {:?}]", format!(" {line}"));
    }
    let call = format!("stream.encode(&UNIT_{n}[{k}], grid){calls}");
    let (keyword, body) = if f.is_safe() {
        ("", format!("{call}.dispatch()"))
    } else {
        let unchecked = format!("unsafe {{ {call}.dispatch_unchecked() }}");
        let why = "// SAFETY: passed on to the caller.";
        ("unsafe ", format!("{why}\n    {unchecked}"))
    };
    let _ = writeln!(
        out,
        "#[allow(clippy::too_many_arguments)]\npub {keyword}fn {}(stream: &{RUNTIME}::CommandStream, grid: {RUNTIME}::Grid{params}) -> \
         Result<(), {RUNTIME}::MetalError> {{\n{asserts}    {body}\n}}\n",
        identifier(&e.name)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(list: &[(&str, &str, ParamKind)]) -> Vec<Param> {
        let param = |(position, (name, element, kind)): (usize, &(&str, &str, ParamKind))| Param {
            name: (*name).into(),
            position,
            index: position as u8,
            kind: kind.clone(),
            element: (*element).into(),
            line: 1,
            tokens: (0, 0),
            name_token: None,
        };
        list.iter().enumerate().map(param).collect()
    }

    #[test]
    fn numbered_buffers_are_one_argument() {
        let (read, write) = (
            ParamKind::Buffer { writes: false },
            ParamKind::Buffer { writes: true },
        );
        let list = params(&[
            ("jobs", "Job", read.clone()),
            ("source0", "Fp", read.clone()),
            ("source1", "Fp", read.clone()),
            ("source2", "Fp", read.clone()),
            // Another type, a gap, one alone, no word, written ones.
            ("source3", "uint", read.clone()),
            ("a0", "Fp", read.clone()),
            ("a2", "Fp", read.clone()),
            ("b0", "Fp", read.clone()),
            ("c0", "Fp", read.clone()),
            ("c1", "Fp", read),
            ("out0", "Fp", write.clone()),
            ("out1", "Fp", write),
        ]);
        let array = |name: &str, first, len| Array {
            name: name.into(),
            first,
            len,
        };
        assert_eq!(arrays(&list), [array("sources", 1, 3), array("cs", 8, 2)]);
    }
}
