//! Bodies of kernels that fold. Dimensions that are kept come first, then those that are folded.
//!
//! | name | is |
//! |---|---|
//! | `k`, `part` | element of the result, part of it |
//! | `b0`.. | first byte of what is folded into it, of each view |
//! | `c0`.. | values folded so far, one for each of the elements that a thread takes at once |

use hologram_kernels::host::expression::FoldOp;

use super::super::types::msl;
use super::layout::{Inner, Sharing, Word};
use super::{access, steps, Writer, GROUP};
use crate::isa::Ty;

/// Accesses of a thread that are begun before the first is used.
pub(super) const AT_ONCE: usize = 4;
/// Threads that fold what the threads of a group left.
pub(super) const COLUMNS: u32 = 16;

/// Builtins and statements of a fold's kernel, and whether threads of a group meet.
pub fn body(writer: &mut Writer<'_>, sharing: Sharing, op: FoldOp, value: usize) -> (String, bool) {
    let ty = writer.expression.types()[value];
    let fold = match writer.layout.position_words {
        true => Fold {
            ty: Ty::U64,
            op: FoldOp::Maximum,
            positions_of: Some((ty, op)),
        },
        false => Fold {
            ty,
            op,
            positions_of: None,
        },
    };
    match sharing {
        Sharing::Rows(threads) => (rows(writer, fold, threads), threads > 1),
        Sharing::Columns => (columns(writer, fold), false),
    }
}

#[derive(Clone, Copy)]
struct Fold {
    ty: Ty,
    op: FoldOp,
    /// Type and operation of the elements whose positions are looked for.
    positions_of: Option<(Ty, FoldOp)>,
}

impl Fold {
    fn of(self, a: &str, b: &str) -> String {
        steps::folded(self.op, self.ty, a, b)
    }

    /// Value of an element that is folded; `index` is its position where positions are folded.
    fn element(self, value: &str, index: &str) -> String {
        let Some((ty, op)) = self.positions_of else {
            return value.into();
        };
        let order = match op {
            FoldOp::Minimum => "hg_lowest",
            FoldOp::Maximum | FoldOp::Sum | FoldOp::Product => "hg_order",
        };
        let held = match ty {
            _ if ty.is_float() => "float",
            _ if ty.is_signed_int() => "int",
            _ => "uint",
        };
        format!("hg_position_word({order}(({held}){value}), (ulong)({index}))")
    }

    /// The type of the target, and what goes there.
    fn end(self, writer: &Writer<'_>, value: &str) -> (Ty, String) {
        match writer.layout.position_target {
            true => (Ty::I64, format!("hg_position({value})")),
            false => (self.ty, value.into()),
        }
    }

    /// `a = a folded with b;`
    fn into(self, a: &str, b: &str) -> String {
        format!("{a} = {};\n", self.of(a, b))
    }
}

/// First byte of what is folded into element `k`, of each view: `b0` and on.
pub(super) fn bases(writer: &mut Writer<'_>, out: &mut String, number: &str) {
    let kept = writer.layout.kept();
    writer.indices(out, number, "k", 0..kept);
    for view in 0..writer.layout.views.len() {
        let base = writer.word(Word::View(view));
        let offset = writer.offset(view, "k", 0..kept);
        out.push_str(&format!("const ulong b{view} = {base} + {offset};\n"));
    }
}

/// Places of number `number` of what is folded, behind `b0` and on: declared as `{prefix}p0` and on.
pub(super) fn places(
    writer: &mut Writer<'_>,
    out: &mut String,
    prefix: &str,
    number: &str,
) -> Vec<String> {
    let dims = writer.layout.kept()..writer.layout.rank;
    let indices = format!("{prefix}i");
    writer.indices(out, number, &indices, dims.clone());
    (0..writer.layout.views.len())
        .map(|view| {
            let offset = writer.offset(view, &indices, dims.clone());
            out.push_str(&format!(
                "const ulong {prefix}p{view} = b{view} + {offset};\n"
            ));
            format!("{prefix}p{view}")
        })
        .collect()
}

/// A loop over numbers `j` below `length`, `step` apart: several are loaded before the first is used. `element` gives the text of
/// the number of the first element.
fn walk(
    writer: &mut Writer<'_>,
    fold: Fold,
    inner: usize,
    element: impl Fn(&str) -> String,
) -> String {
    let width = writer.layout.width;
    let columns = writer.layout.sharing == Some(Sharing::Columns);
    let mut pass = |count: usize| {
        let mut loads = String::new();
        let mut works = String::new();
        for u in 0..count {
            let prefix = format!("u{u}");
            let number = match u {
                0 => "j".to_string(),
                u => format!("(j + {u} * step)"),
            };
            let at = places(writer, &mut loads, &prefix, &element(&number));
            let loaded = writer.load(&mut loads, &prefix, &at, width, inner);
            writer.finish(&mut works, &prefix, &loaded, &at, width, inner);
            for i in 0..width {
                let index = match columns {
                    true => number.clone(),
                    false => format!("{} + {i}", element(&number)),
                };
                let value = fold.element(&format!("{prefix}r{i}.f"), &index);
                works.push_str(&fold.into(&format!("c{i}"), &value));
            }
        }
        loads + &works
    };
    let (several, one) = (pass(AT_ONCE), pass(1));
    format!(
        "for (; j + {} * step < length; j += {AT_ONCE} * step) {{\n{several}}}\n\
         for (; j < length; j += step) {{\n{one}}}\n",
        AT_ONCE - 1
    )
}

fn accumulators(writer: &Writer<'_>, fold: Fold) -> String {
    let (m, empty) = (msl(fold.ty), steps::empty(fold.op, fold.ty));
    (0..writer.layout.width)
        .map(|i| format!("{m} c{i} = {empty};\n"))
        .collect()
}

/// The element of the result, or its part, of threads that fold one: `k`, `part`.
fn numbers(writer: &mut Writer<'_>, group: &str) -> String {
    let index = writer.index;
    match writer.layout.parts {
        true => {
            let parts = writer.word(Word::Parts);
            format!("const {index} parts = ({index}){parts};\nconst {index} k = {group} / parts, part = {group} % parts;\n")
        }
        false => format!("const {index} parts = 1, k = {group}, part = 0;\n(void)parts;\n"),
    }
}

/// Stores `value` as the fold of element `k`, or of its part.
fn result(writer: &mut Writer<'_>, fold: Fold, value: &str, group: &str) -> String {
    let target = writer.word(Word::Target);
    let m = msl(fold.ty);
    if writer.layout.parts {
        return format!(
            "hg_put<{m}>(mem, {target} + (ulong){group} * {}ul, {value});\n",
            fold.ty.size()
        );
    }
    let (ty, value) = fold.end(writer, value);
    let m = msl(ty);
    let mut out = String::new();
    let kept = writer.layout.kept();
    writer.indices(&mut out, "k", "t", 0..kept);
    let mut at = target;
    for d in 0..kept {
        let stride = writer.word(Word::TargetStride(d));
        at.push_str(&format!(" + (ulong)t{d} * {stride}"));
    }
    out.push_str(&format!("hg_put<{m}>(mem, {at}, {value});\n"));
    out
}

/// Threads of a group fold one element, or 256 / `threads` of them.
fn rows(writer: &mut Writer<'_>, fold: Fold, threads: u32) -> String {
    let (index, width) = (writer.index, writer.layout.width);
    let m = msl(fold.ty);
    let inner = writer.layout.rank - 1;
    let each = GROUP / threads;
    let mut out = String::new();
    let group = if threads == 1 {
        out.push_str(&format!(
            "uint3 gid [[thread_position_in_grid]]) {{\nconst {index} group = ({index})gid.x, lane = 0;\n"
        ));
        "group"
    } else {
        out.push_str(&format!(
            "uint3 tid [[thread_position_in_threadgroup]], uint3 bid [[threadgroup_position_in_grid]]) {{\n\
             threadgroup {m} left[{GROUP}];\nthreadgroup {m} folded[{COLUMNS}];\n\
             const {index} group = ({index})bid.x * {each} + tid.x / {threads}, lane = tid.x % {threads};\n"
        ));
        "group"
    };
    out.push_str(&numbers(writer, group));
    out.push_str(&accumulators(writer, fold));
    let (count, length) = (writer.word(Word::Count), writer.word(Word::Length));
    out.push_str(&format!("if (k < ({index}){count}) {{\n"));
    bases(writer, &mut out, "k");
    out.push_str(&format!(
        "const {index} all = ({index}){length}, length = all / {width}, step = parts * {threads};\n\
         {index} j = part * {threads} + lane;\n"
    ));
    out.push_str(&walk(writer, fold, inner, |number| match width {
        1 => number.into(),
        width => format!("{number} * {width}"),
    }));
    if width > 1 && writer.layout.folded == 1 {
        // What is left of a row that is no multiple of `width`.
        let firsts: Vec<String> = (0..writer.layout.views.len())
            .map(|view| format!("b{view}"))
            .collect();
        let (names, rest) = writer.single("e", &firsts, inner);
        let into = fold.into("c0", &fold.element("er0.f", "e"));
        out.push_str(&format!(
            "if (lane == 0 && part == parts - 1) for ({index} e = length * {width}; e < all; e++) {{\n{names}{rest}{into}}}\n"
        ));
    }
    for i in 1..width {
        out.push_str(&fold.into("c0", &format!("c{i}")));
    }
    if threads == 1 {
        out.push_str(&result(writer, fold, "c0", "group"));
        out.push_str("}\n");
        return out;
    }
    out.push_str("}\n");
    out.push_str(&together(writer, fold, threads));
    out
}

/// Folds the values in `c0` of a group's threads through threadgroup memory and stores the result.
fn together(writer: &mut Writer<'_>, fold: Fold, threads: u32) -> String {
    let (index, m, each) = (writer.index, msl(fold.ty), GROUP / threads);
    let count = writer.word(Word::Count);
    let mut out = String::new();
    // A thread folds 16 values of one row: those of its column where all are of one row.
    let from = |i: &str| match threads {
        GROUP => format!("tid.x + {i} * {COLUMNS}"),
        _ => format!("tid.x * {} + {i}", GROUP / COLUMNS),
    };
    let last = COLUMNS / each;
    out.push_str(&format!(
        "left[tid.x] = c0;\nthreadgroup_barrier(mem_flags::mem_threadgroup);\n\
         if (tid.x < {COLUMNS}) {{\n{m} s = left[{first}];\nfor (uint i = 1; i < {n}; i++) {into}folded[tid.x] = s;\n}}\n\
         threadgroup_barrier(mem_flags::mem_threadgroup);\nif (tid.x >= {each}) return;\n\
         {m} s = folded[tid.x * {last}];\nfor (uint i = 1; i < {last}; i++) {end}",
        first = from("0"),
        n = GROUP / COLUMNS,
        into = fold.into("s", &format!("left[{}]", from("i"))),
        end = fold.into("s", &format!("folded[tid.x * {last} + i]")),
    ));
    let parts = match writer.layout.parts {
        true => "const IDX k = g / parts;\n",
        false => "const IDX k = g;\n",
    };
    out.push_str(&format!(
        "{{\nconst {index} g = ({index})bid.x * {each} + tid.x;\n{}(void)k;\n",
        parts.replace("IDX", index)
    ));
    let stored = result(writer, fold, "s", "g");
    out.push_str(&format!("if (k < ({index}){count}) {{\n{stored}}}\n}}\n"));
    out
}

/// A thread folds `width` neighbouring elements of the result.
fn columns(writer: &mut Writer<'_>, fold: Fold) -> String {
    let (index, width) = (writer.index, writer.layout.width);
    let kept = writer.layout.kept();
    let inner = kept - 1;
    let (count, length) = (writer.word(Word::Count), writer.word(Word::Length));
    let mut out = format!(
        "uint3 gid [[thread_position_in_grid]]) {{\n\
         const {index} count = ({index}){count}, each = count / {width}, length = ({index}){length};\n"
    );
    match writer.layout.parts {
        true => {
            let parts = writer.word(Word::Parts);
            out.push_str(&format!(
                "const {index} step = ({index}){parts}, k = (({index})gid.x % each) * {width}, part = ({index})gid.x / each;\n"
            ));
        }
        false => out.push_str(&format!(
            "const {index} step = 1, k = ({index})gid.x * {width}, part = ({index})gid.x / each;\n"
        )),
    }
    out.push_str("if (part >= step) return;\n");
    out.push_str(&accumulators(writer, fold));
    bases(writer, &mut out, "k");
    out.push_str(&format!("{index} j = part;\n"));
    out.push_str(&walk(writer, fold, inner, str::to_string));
    let values: Vec<String> = (0..width).map(|i| format!("c{i}")).collect();
    let target = writer.word(Word::Target);
    let size = fold.ty.size();
    if writer.layout.parts {
        let at = format!("{target} + ((ulong)part * count + k) * {size}ul");
        access::store(&mut out, &values, fold.ty, Inner::Vector, &at, "0ul");
        return out;
    }
    let mut at = target;
    for d in 0..kept {
        let stride = writer.word(Word::TargetStride(d));
        at.push_str(&format!(" + (ulong)k{d} * {stride}"));
    }
    let stride = match writer.layout.target {
        Inner::Vector => format!("{size}ul"),
        Inner::Same | Inner::Apart => writer.word(Word::TargetStride(inner)),
    };
    out.push_str(&format!("const ulong to = {at};\n"));
    let ends: Vec<(Ty, String)> = values.iter().map(|value| fold.end(writer, value)).collect();
    let ty = ends[0].0;
    let values: Vec<String> = ends.into_iter().map(|(_, value)| value).collect();
    access::store(&mut out, &values, ty, writer.layout.target, "to", &stride);
    out
}
