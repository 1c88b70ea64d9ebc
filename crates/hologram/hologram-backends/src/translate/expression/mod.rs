//! Expressions to kernels: elementwise, or ending in a fold or a scan.
//!
//! | kernel | a thread | reads and writes |
//! |---|---|---|
//! | elementwise | computes `width` neighbouring elements | operands and outputs once, 16 bytes at a time where they are dense |
//! | fold, rows | of 1, 32 or 256 that fold an element together, `width` of its elements, then others further on | operands and outputs once, its element of the result or of the parts |
//! | fold, columns | `width` neighbouring elements of the result, a part of what is folded into them | the same |
//! | scan, rows | of 1, 32 or 256 that scan a row or a part of it together, up to four times `width` neighbouring elements | operands and the target once, the fold of what is before its part |
//! | scan, columns | a part of `width` neighbouring columns | the same |
//!
//! Places of views, extents and scalars are parameters, so that one text serves all sizes. Nothing is tested: whoever launches a
//! kernel has checked that the views lie inside their buffers.

mod access;
mod fold;
mod layout;
mod plan;
mod scan;
mod space;
mod steps;

pub use layout::{Inner, Layout, Sharing, Word};
pub use plan::{rounds, Round, Value};
pub use space::Space;

use hologram_kernels::host::expression::Expression;

use self::layout::{Words, TILE};
use super::types::{from_bits, msl};
use crate::isa::Ty;

/// Threads of a threadgroup.
pub const GROUP: u32 = 256;
// Threads of a tile are 32 by 8, four blocks of 8 by 4 below one another and two beside.
const _: () = assert!(TILE == 32 && GROUP as usize == 8 * TILE);

/// A kernel's text with `$K` for its name, and the words of its parameters.
#[derive(Clone, Debug)]
pub struct Fused {
    /// The text.
    pub text: String,
    /// Words of `P.v`.
    pub words: Vec<Word>,
    /// Threads of a threadgroup meet.
    pub barriers: bool,
}

/// The kernel of an expression.
///
/// # Errors
/// The name of a step that devices do not have.
pub fn fused(expression: &Expression, layout: &Layout) -> Result<Fused, String> {
    let mut writer = Writer {
        expression,
        layout,
        words: Words::default(),
        index: if layout.wide { "ulong" } else { "uint" },
    };
    let compute = writer.compute()?;
    let (body, barriers) = match (layout.sharing, expression.fold()) {
        (Some(sharing), Some((op, value))) => match layout.scan {
            Some(form) => scan::body(&mut writer, sharing, form, op, value),
            None => fold::body(&mut writer, sharing, op, value),
        },
        _ => (writer.elementwise(), false),
    };
    let text = format!(
        "struct $K_p {{ ulong v[{}]; }};\n{compute}\
         [[max_total_threads_per_threadgroup({GROUP})]] kernel void $K(device uchar* mem [[buffer(0)]], constant $K_p& P [[buffer(1)]], {body}}}\n",
        writer.words.0.len().max(1)
    );
    Ok(Fused {
        text,
        words: writer.words.0,
        barriers,
    })
}

/// The source, and the words that it names.
struct Writer<'a> {
    expression: &'a Expression,
    layout: &'a Layout,
    words: Words,
    /// Type of indices.
    index: &'static str,
}

impl Writer<'_> {
    fn word(&mut self, word: Word) -> String {
        self.words.text(word)
    }

    /// Type of a view: operands, then outputs, then what a scan is written to.
    fn ty(&self, view: usize) -> Ty {
        let (expression, operands) = (self.expression, self.operands());
        let outputs = expression.outputs().iter().copied();
        let results = outputs.chain(expression.fold().map(|(_, value)| value));
        let mut values = (0..operands).chain(results);
        values
            .nth(view)
            .map_or(Ty::U8, |value| expression.types()[value])
    }

    fn operands(&self) -> usize {
        self.expression.operand_types().len()
    }

    /// `$K_f`: all steps of one element, from operands to outputs `o0` and on and the value `f` that is folded.
    fn compute(&mut self) -> Result<String, String> {
        let expression = self.expression;
        let types = expression.types();
        let operands = self.operands();
        let first_step = operands + expression.scalars();
        let name = |value: usize| match value {
            v if v < operands => format!("a{v}"),
            v if v < first_step => format!("s{}", v - operands),
            v => format!("t{}", v - first_step),
        };
        let mut fields = String::new();
        let mut results = String::new();
        for (k, &value) in expression.outputs().iter().enumerate() {
            fields.push_str(&format!("{} o{k}; ", msl(types[value])));
            results.push_str(&format!("r.o{k} = {}; ", name(value)));
        }
        if let Some((_, value)) = expression.fold() {
            fields.push_str(&format!("{} f; ", msl(types[value])));
            results.push_str(&format!("r.f = {}; ", name(value)));
        }
        let params: String = (0..operands)
            .map(|k| format!(", {} a{k}", msl(types[k])))
            .collect();
        let mut body = String::new();
        for k in 0..expression.scalars() {
            let ty = types[operands + k];
            let word = self.word(Word::Scalar(k));
            let value = from_bits(ty, &word);
            body.push_str(&format!("const {} s{k} = {value};\n", msl(ty)));
        }
        for (k, step) in expression.steps().iter().enumerate() {
            let args: Vec<String> = step.args.iter().map(|&arg| name(arg)).collect();
            let text = steps::text(step.op, step.ty, &args)?;
            let m = msl(types[first_step + k]);
            body.push_str(&format!("const {m} t{k} = {text};\n"));
        }
        Ok(format!(
            "struct $K_o {{ {fields}}};\nMETAL_FUNC $K_o $K_f(constant $K_p& P{params}) {{\n(void)P;\n{body}$K_o r;\n{results}\nreturn r;\n}}\n"
        ))
    }

    /// Declares `{prefix}{d}`, the index along each of the dimensions `dims` of element number `number`.
    fn indices(
        &mut self,
        out: &mut String,
        number: &str,
        prefix: &str,
        dims: std::ops::Range<usize>,
    ) {
        let index = self.index;
        if dims.is_empty() {
            return;
        }
        let rest = format!("{prefix}q");
        out.push_str(&format!("{index} {rest} = {number};\n"));
        for d in dims.clone().skip(1).rev() {
            let extent = self.word(Word::Extent(d));
            out.push_str(&format!(
                "const {index} {prefix}{d} = {rest} % ({index}){extent}; {rest} /= ({index}){extent};\n"
            ));
        }
        out.push_str(&format!("const {index} {prefix}{} = {rest};\n", dims.start));
    }

    /// Bytes from a view's first element to that with indices `{prefix}{d}`.
    fn offset(&mut self, view: usize, prefix: &str, dims: std::ops::Range<usize>) -> String {
        let terms: Vec<String> = dims
            .map(|d| {
                let stride = self.word(Word::Stride(view, d));
                format!("(ulong){prefix}{d} * {stride}")
            })
            .collect();
        if terms.is_empty() {
            "0ul".into()
        } else {
            terms.join(" + ")
        }
    }

    /// Bytes between the elements of a thread, along dimension `d`.
    fn step(&mut self, view: usize, d: usize) -> String {
        match self.layout.views[view].inner {
            Inner::Vector => format!("{}ul", self.ty(view).size()),
            Inner::Same => "0ul".into(),
            Inner::Apart => self.word(Word::Stride(view, d)),
        }
    }

    /// Statements that compute the `width` elements whose operands lie at `places` (a byte of each view) from `loaded` names,
    /// and store the outputs; results are `{prefix}r0` and on.
    fn finish(
        &mut self,
        out: &mut String,
        prefix: &str,
        loaded: &[Vec<String>],
        places: &[String],
        width: usize,
        inner_dim: usize,
    ) {
        for i in 0..width {
            let args: String = loaded
                .iter()
                .map(|names| format!(", {}", names[i]))
                .collect();
            out.push_str(&format!("const $K_o {prefix}r{i} = $K_f(P{args});\n"));
        }
        let operands = self.operands();
        let outputs = self.expression.outputs().len();
        for (view, place) in places.iter().enumerate().skip(operands).take(outputs) {
            let ty = self.ty(view);
            let values: Vec<String> = (0..width)
                .map(|i| format!("{prefix}r{i}.o{}", view - operands))
                .collect();
            let stride = self.step(view, inner_dim);
            let inner = self.layout.views[view].inner;
            access::store(out, &values, ty, inner, place, &stride);
        }
    }

    /// Loads all operands at `places`.
    fn load(
        &mut self,
        out: &mut String,
        prefix: &str,
        places: &[String],
        width: usize,
        inner_dim: usize,
    ) -> Vec<Vec<String>> {
        (0..self.operands())
            .map(|view| {
                let stride = self.step(view, inner_dim);
                let inner = self.layout.views[view].inner;
                let (ty, name) = (self.ty(view), format!("{prefix}w{view}"));
                access::load(out, &name, ty, inner, width, &places[view], &stride)
            })
            .collect()
    }

    /// Body of the elementwise kernel.
    fn elementwise(&mut self) -> String {
        let (index, width, rank) = (self.index, self.layout.width, self.layout.rank);
        let inner = rank.saturating_sub(1);
        if let Some(rows) = self.layout.tiled {
            return self.tiles(rows);
        }
        let count = self.word(Word::Count);
        let mut out = format!(
            "uint3 gid [[thread_position_in_grid]]) {{\nconst {index} count = ({index}){count};\n\
             const {index} first = ({index})gid.x * {width};\nif (first >= count) return;\n"
        );
        if self.layout.views.iter().any(|view| !view.dense) {
            self.indices(&mut out, "first", "i", 0..rank);
        }
        let mut places = Vec::new();
        for view in 0..self.layout.views.len() {
            let base = self.word(Word::View(view));
            let offset = match self.layout.views[view].dense {
                true => format!("(ulong)first * {}ul", self.ty(view).size()),
                false => self.offset(view, "i", 0..rank),
            };
            out.push_str(&format!("const ulong p{view} = {base} + {offset};\n"));
            places.push(format!("p{view}"));
        }
        let mut whole = String::new();
        let loaded = self.load(&mut whole, "", &places, width, inner);
        self.finish(&mut whole, "", &loaded, &places, width, inner);
        if width == 1 || rank > 1 {
            // Rows are multiples of what a thread takes.
            return out + &whole;
        }
        let (names, rest) = self.single("e", &places, inner);
        out + &format!(
            "if (first + {width} <= count) {{\n{whole}}} else {{\n\
             for ({index} e = 0; first + e < count; e++) {{\n{names}{rest}}}\n}}\n"
        )
    }

    /// Body of the elementwise kernel whose groups take tiles along dimension `rows` and the innermost one: of 32 threads eight are
    /// neighbours along `rows`, four along the innermost, as a thread's elements are, so that both sides move whole sectors.
    fn tiles(&mut self, rows: usize) -> String {
        let (index, width, rank) = (self.index, self.layout.width, self.layout.rank);
        let inner = rank - 1;
        let across = GROUP as usize / TILE * width;
        let [r, c] = [rows, inner].map(|d| self.word(Word::Extent(d)));
        let mut out = format!(
            "uint3 tid [[thread_position_in_threadgroup]], uint3 bid [[threadgroup_position_in_grid]]) {{\n\
             const {index} rows = ({index}){r}, columns = ({index}){c};\n\
             const {index} down = (rows + {down}) / {TILE}, right = (columns + {over}) / {across};\n\
             {index} q = ({index})bid.x;\nconst {index} tr = q % down; q /= down;\nconst {index} tc = q % right; q /= right;\n\
             const {index} i{rows} = tr * {TILE} + tid.x % 8 + tid.x / 32 % 4 * 8;\n\
             const {index} i{inner} = tc * {across} + (tid.x / 8 % 4 + tid.x / 128 * 4) * {width};\n\
             if (i{rows} >= rows || i{inner} >= columns) return;\n",
            down = TILE - 1,
            over = across - 1,
        );
        for d in (0..inner).rev().filter(|&d| d != rows) {
            let extent = self.word(Word::Extent(d));
            out.push_str(&format!(
                "const {index} i{d} = q % ({index}){extent}; q /= ({index}){extent};\n"
            ));
        }
        let mut places = Vec::new();
        for view in 0..self.layout.views.len() {
            let base = self.word(Word::View(view));
            let offset = self.offset(view, "i", 0..rank);
            out.push_str(&format!("const ulong p{view} = {base} + {offset};\n"));
            places.push(format!("p{view}"));
        }
        let loaded = self.load(&mut out, "", &places, width, inner);
        self.finish(&mut out, "", &loaded, &places, width, inner);
        out
    }

    /// One element, number `e` behind those at `places`: declarations of its places, and its work.
    fn single(&mut self, e: &str, places: &[String], inner_dim: usize) -> (String, String) {
        let mut names = String::new();
        let mut own = Vec::new();
        for (view, place) in places.iter().enumerate() {
            let stride = self.step(view, inner_dim);
            names.push_str(&format!(
                "const ulong e{view} = {place} + (ulong){e} * {stride};\n"
            ));
            own.push(format!("e{view}"));
        }
        let mut rest = String::new();
        let loaded = self.load(&mut rest, "e", &own, 1, inner_dim);
        self.finish(&mut rest, "e", &loaded, &own, 1, inner_dim);
        (names, rest)
    }
}
