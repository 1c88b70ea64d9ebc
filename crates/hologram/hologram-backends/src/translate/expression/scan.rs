//! Bodies of kernels that scan: each element of the target becomes the fold of the elements up to it along the last dimension.
//!
//! | name | is |
//! |---|---|
//! | `k`, `part` | row or column, part of it |
//! | `b0`.. | first byte of the row, of each view |
//! | `u0c0`.. | folds of the neighbours of one access, up to each |
//! | `left`, `sums`, `columns` | folds of accesses, of those of a thread's place, of 16 of these; then of all before each |
//! | `c0`.. | folds so far, of columns and of rows of one thread |

use hologram_kernels::host::expression::FoldOp;

use super::super::types::msl;
use super::fold::{bases, places, AT_ONCE, COLUMNS};
use super::layout::{Inner, Scan, Sharing, Word};
use super::{access, steps, Writer, GROUP};
use crate::isa::Ty;

/// Builtins and statements of a scan's kernel, and whether threads of a group meet.
pub fn body(
    writer: &mut Writer<'_>,
    sharing: Sharing,
    form: Scan,
    op: FoldOp,
    value: usize,
) -> (String, bool) {
    let ty = writer.expression.types()[value];
    let fold = Fold { op, ty };
    match sharing {
        Sharing::Rows(1) => (row_of_one(writer, fold), false),
        Sharing::Rows(threads) => (rows(writer, fold, form, threads), true),
        Sharing::Columns => (columns(writer, fold, form), false),
    }
}

#[derive(Clone, Copy)]
struct Fold {
    op: FoldOp,
    ty: Ty,
}

impl Fold {
    fn of(self, a: &str, b: &str) -> String {
        steps::folded(self.op, self.ty, a, b)
    }

    /// Declares `{name}0` and on: folds of `first`, if there is one, and the values `{prefix}r0` up to each.
    fn up_to_each(
        self,
        out: &mut String,
        name: &str,
        first: Option<&str>,
        values: &[String],
    ) -> Vec<String> {
        let m = msl(self.ty);
        let mut last: Option<String> = first.map(Into::into);
        let mut names = Vec::new();
        for (i, value) in values.iter().enumerate() {
            let text = match &last {
                Some(last) => self.of(last, value),
                None => value.clone(),
            };
            let own = format!("{name}{i}");
            out.push_str(&format!("const {m} {own} = {text};\n"));
            last = Some(own.clone());
            names.push(own);
        }
        names
    }

    /// Makes the `count` elements of `array` from `first` on folds of all before each, from `s` on, which becomes the fold of all.
    fn before_each(self, array: &str, first: &str, count: usize) -> String {
        let m = msl(self.ty);
        let folded = self.of("s", "x");
        format!(
            "for (uint i = 0; i < {count}; i++) {{\nconst {m} x = {array}[{first} + i];\n\
             {array}[{first} + i] = s;\ns = {folded};\n}}\n"
        )
    }
}

/// The view that is written.
fn target(writer: &Writer<'_>) -> usize {
    writer.layout.views.len() - 1
}

/// Stores neighbours of the target at byte `at`.
fn store(
    writer: &mut Writer<'_>,
    out: &mut String,
    values: &[String],
    ty: Ty,
    at: &str,
    dim: usize,
) {
    let view = target(writer);
    let stride = writer.step(view, dim);
    let inner = writer.layout.views[view].inner;
    access::store(out, values, ty, inner, at, &stride);
}

/// Folded values of the accesses `{prefix}`.
fn values(prefix: &str, width: usize) -> Vec<String> {
    (0..width).map(|i| format!("{prefix}r{i}.f")).collect()
}

/// Rest of a row that is no multiple of `width`, after the fold `carry` of all before it.
fn rest(writer: &mut Writer<'_>, fold: Fold, carry: &str) -> String {
    let index = writer.index;
    let (width, inner) = (writer.layout.width, writer.layout.rank - 1);
    let views = writer.layout.views.len();
    let firsts: Vec<String> = (0..views).map(|view| format!("b{view}")).collect();
    let (names, work) = writer.single("e", &firsts, inner);
    format!(
        "for ({index} e = vectors * {width}; e < length; e++) {{\n{names}{work}\
         {carry} = {};\nhg_put<{}>(mem, e{}, {carry});\n}}\n",
        fold.of(carry, "er0.f"),
        msl(fold.ty),
        views - 1
    )
}

/// Threads of a group scan a part of a row, or 256 / `threads` rows.
fn rows(writer: &mut Writer<'_>, fold: Fold, form: Scan, threads: u32) -> String {
    let (index, width, depth) = (writer.index, writer.layout.width, form.depth);
    let (m, empty) = (msl(fold.ty), steps::empty(fold.op, fold.ty));
    let (inner, each) = (writer.layout.rank - 1, GROUP / threads);
    let barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);\n";
    let (count, length) = (writer.word(Word::Count), writer.word(Word::Length));
    let mut out = format!(
        "uint3 tid [[thread_position_in_threadgroup]], uint3 bid [[threadgroup_position_in_grid]]) {{\n\
         threadgroup {m} left[{}];\nthreadgroup {m} sums[{GROUP}];\nthreadgroup {m} columns[{COLUMNS}];\n\
         const {index} group = ({index})bid.x * {each} + tid.x / {threads}, lane = tid.x % {threads};\n\
         const {index} count = ({index}){count}, length = ({index}){length}, vectors = length / {width};\n",
        GROUP as usize * depth
    );
    // Threads without a row, or behind its end, read the last one there is and write nothing.
    let first = match form.before {
        true => {
            let (parts, before) = (writer.word(Word::Parts), writer.word(Word::Before));
            out.push_str(&format!(
                "const {index} parts = ({index}){parts}, k = group % count, part = group / count;\nconst bool live = true;\n"
            ));
            let at = format!(
                "{before} + ((ulong)k * (parts - 1) + part - 1) * {}ul",
                fold.ty.size()
            );
            format!("{m} s = {empty};\nif (part > 0) s = hg_at<{m}>(mem, {at});\n")
        }
        false => {
            out.push_str(&format!(
                "const bool live = group < count;\nconst {index} k = live ? group : count - 1, part = 0;\n"
            ));
            format!("{m} s = {empty};\n")
        }
    };
    bases(writer, &mut out, "k");
    let mut works = String::new();
    let mut stores = String::new();
    for u in 0..depth {
        let prefix = format!("u{u}");
        out.push_str(&format!(
            "const {index} v{u} = part * {} + {} + lane;\n",
            threads as usize * depth,
            threads as usize * u
        ));
        let number = format!("(v{u} < vectors ? v{u} : vectors - 1) * {width}");
        let at = places(writer, &mut out, &prefix, &number);
        let loaded = writer.load(&mut out, &prefix, &at, width, inner);
        writer.finish(&mut works, &prefix, &loaded, &at, width, inner);
        let name = format!("{prefix}c");
        let own = fold.up_to_each(&mut works, &name, None, &values(&prefix, width));
        let place = format!("w{u}");
        works.push_str(&format!(
            "const uint {place} = tid.x / {threads} * {} + {} + tid.x % {threads};\n\
             left[{place}] = v{u} < vectors ? {} : {empty};\n",
            threads as usize * depth,
            threads as usize * u,
            own[width - 1]
        ));
        stores.push_str(&format!(
            "if (live && v{u} < vectors) {{\nconst {m} x = {};\nconst {m} s = {};\n",
            fold.of(
                &format!("columns[{place} / {}]", COLUMNS as usize * depth),
                &format!("sums[{place} / {depth}]")
            ),
            fold.of("x", &format!("left[{place}]"))
        ));
        let ends: Vec<String> = (0..width).map(|i| format!("{prefix}s{i}")).collect();
        for (end, own) in ends.iter().zip(&own) {
            stores.push_str(&format!("const {m} {end} = {};\n", fold.of("s", own)));
        }
        store(
            writer,
            &mut stores,
            &ends,
            fold.ty,
            &at[target(writer)],
            inner,
        );
        if width > 1 {
            let last = &ends[width - 1];
            stores.push_str(&format!(
                "if (v{u} + 1 == vectors) {{\ncarry = {last};\nends = true;\n}}\n"
            ));
        }
        stores.push_str("}\n");
    }
    out.push_str(&works);
    out.push_str(barrier);
    let (each_of, last) = (GROUP / COLUMNS, COLUMNS / each);
    out.push_str(&format!(
        "{{\n{m} s = {empty};\n{}sums[tid.x] = s;\n}}\n{barrier}\
         if (tid.x < {COLUMNS}) {{\n{m} s = {empty};\n{}columns[tid.x] = s;\n}}\n{barrier}\
         if (tid.x < {each}) {{\n{first}{}}}\n{barrier}",
        fold.before_each("left", &format!("tid.x * {depth}"), depth),
        fold.before_each("sums", &format!("tid.x * {each_of}"), each_of as usize),
        fold.before_each("columns", &format!("tid.x * {last}"), last as usize),
    ));
    if width > 1 {
        out.push_str(&format!("{m} carry = {empty};\nbool ends = false;\n"));
    }
    out.push_str(&stores);
    if width > 1 {
        let rest = rest(writer, fold, "carry");
        out.push_str(&format!("if (ends) {rest}"));
    }
    out
}

/// A thread scans a row.
fn row_of_one(writer: &mut Writer<'_>, fold: Fold) -> String {
    let (index, width) = (writer.index, writer.layout.width);
    let (m, empty) = (msl(fold.ty), steps::empty(fold.op, fold.ty));
    let inner = writer.layout.rank - 1;
    let (count, length) = (writer.word(Word::Count), writer.word(Word::Length));
    let mut out = format!(
        "uint3 gid [[thread_position_in_grid]]) {{\n\
         const {index} k = ({index})gid.x;\nif (k >= ({index}){count}) return;\n\
         const {index} length = ({index}){length}, vectors = length / {width}, end = vectors;\n"
    );
    bases(writer, &mut out, "k");
    out.push_str(&format!("{m} c0 = {empty};\n{index} j = 0;\n"));
    out.push_str(&walk(writer, inner, |writer, out, prefix, at| {
        let name = format!("{prefix}s");
        let ends = fold.up_to_each(out, &name, Some("c0"), &values(prefix, width));
        store(writer, out, &ends, fold.ty, at, inner);
        out.push_str(&format!("c0 = {};\n", ends[width - 1]));
    }));
    if width > 1 {
        out.push_str(&rest(writer, fold, "c0"));
    }
    out
}

/// A thread scans a part of `width` neighbouring columns.
fn columns(writer: &mut Writer<'_>, fold: Fold, form: Scan) -> String {
    let (index, width) = (writer.index, writer.layout.width);
    let (m, empty) = (msl(fold.ty), steps::empty(fold.op, fold.ty));
    let inner = writer.layout.kept() - 1;
    let (count, length) = (writer.word(Word::Count), writer.word(Word::Length));
    let mut out = format!(
        "uint3 gid [[thread_position_in_grid]]) {{\n\
         const {index} count = ({index}){count}, each = count / {width}, length = ({index}){length};\n\
         const {index} k = (({index})gid.x % each) * {width}, part = ({index})gid.x / each;\n"
    );
    for i in 0..width {
        out.push_str(&format!("{m} c{i} = {empty};\n"));
    }
    if form.before {
        let (parts, tile) = (writer.word(Word::Parts), writer.word(Word::Tile));
        let before = writer.word(Word::Before);
        out.push_str(&format!(
            "if (part >= ({index}){parts}) return;\n\
             const {index} tile = ({index}){tile}, stop = (part + 1) * tile, end = stop < length ? stop : length;\n\
             {index} j = part * tile;\nif (part > 0) {{\n"
        ));
        let at = format!(
            "{before} + ((ulong)(part - 1) * count + k) * {}ul",
            fold.ty.size()
        );
        let names = access::load(
            &mut out,
            "before",
            fold.ty,
            Inner::Vector,
            width,
            &at,
            "0ul",
        );
        for (i, name) in names.iter().enumerate() {
            out.push_str(&format!("c{i} = {name};\n"));
        }
        out.push_str("}\n");
    } else {
        out.push_str(&format!(
            "if (part > 0) return;\nconst {index} end = length;\n{index} j = 0;\n"
        ));
    }
    bases(writer, &mut out, "k");
    out.push_str(&walk(writer, inner, |writer, out, prefix, at| {
        let own: Vec<String> = (0..width).map(|i| format!("c{i}")).collect();
        for (own, value) in own.iter().zip(&values(prefix, width)) {
            out.push_str(&format!("{own} = {};\n", fold.of(own, value)));
        }
        store(writer, out, &own, fold.ty, at, inner);
    }));
    out
}

/// A loop over accesses `j` below `end`: several are loaded before the first is used. `work` gets the prefix of the names of an
/// access, and where its target is.
fn walk(
    writer: &mut Writer<'_>,
    inner: usize,
    work: impl Fn(&mut Writer<'_>, &mut String, &str, &str),
) -> String {
    let width = writer.layout.width;
    let along = match inner == writer.layout.rank - 1 {
        true => format!(" * {width}"),
        false => String::new(),
    };
    let written = target(writer);
    let mut pass = |count: usize| {
        let mut loads = String::new();
        let mut works = String::new();
        for u in 0..count {
            let prefix = format!("u{u}");
            let at = places(writer, &mut loads, &prefix, &format!("(j + {u}){along}"));
            let loaded = writer.load(&mut loads, &prefix, &at, width, inner);
            writer.finish(&mut works, &prefix, &loaded, &at, width, inner);
            work(writer, &mut works, &prefix, &at[written]);
        }
        loads + &works
    };
    let (several, one) = (pass(AT_ONCE), pass(1));
    format!(
        "for (; j + {} < end; j += {AT_ONCE}) {{\n{several}}}\nfor (; j < end; j++) {{\n{one}}}\n",
        AT_ONCE - 1
    )
}
