//! Kernels of an expression of views, and their parameters.

mod scan;

use hologram_kernels::host::expression::Expression;

use super::layout::{Access, Inner, Layout, Sharing, Word, TILE};
use super::space::{Merged, Space, ACCESS};
use super::GROUP;
use crate::backend::views::FoldForm;

/// Threads that keep a device busy, and groups of them.
const THREADS: usize = 1 << 18;
const GROUPS: usize = 1 << 11;
/// Accesses of a thread that folds with others that are worth its part.
const WORTH: usize = 4;
/// Rows of so few accesses are folded by one thread, or by 32.
const SHORT: usize = 16;
const MEDIUM: usize = 512;
/// Rows that are enough for threads, or groups of 32, of their own.
const MANY: usize = 1024;
/// Columns: elements that one thread folds without parts, the least part, and the most parts.
const FEW: usize = 256;
const PART: usize = 64;
const MOST_PARTS: usize = 1 << 13;
/// Indices go as far beyond the last element.
const BEYOND: usize = 1 << 22;

/// Source of a word of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u64),
    /// First byte of an operand, an output, or what a scan is written to.
    View(usize),
    /// First byte of the fold's target.
    Target,
    /// A byte of the memory for parts.
    Parts(usize),
    /// Bits of a scalar.
    Scalar(usize),
}

/// One launch.
#[derive(Clone, Debug)]
pub struct Round {
    /// Shape of the kernel.
    pub layout: Layout,
    /// True if parts are folded: the expression is the fold alone.
    pub of_parts: bool,
    /// Threads, or groups of [`GROUP`] if they meet.
    pub threads: usize,
    count: usize,
    length: usize,
    parts: usize,
    /// Elements of a part of a column that is scanned.
    tile: usize,
    space: Merged,
    /// Starts of views.
    views: Vec<Value>,
    target: Value,
    /// Folds of all before each part that is scanned.
    before: Value,
}

impl Round {
    /// Value of a word of the kernel.
    pub fn value(&self, word: Word) -> Value {
        let number = |n: usize| Value::Number(n as u64);
        match word {
            Word::Count => number(self.count),
            Word::Length => number(self.length),
            Word::Parts => number(self.parts),
            Word::Extent(d) => number(self.space.shape[d]),
            Word::View(view) => self.views[view],
            Word::Stride(view, d) => Value::Number(self.space.strides[view][d] as u64),
            Word::Scalar(k) => Value::Scalar(k),
            Word::Target => self.target,
            Word::TargetStride(d) => Value::Number(self.space.target[d] as u64),
            Word::Before => self.before,
            Word::Tile => number(self.tile),
        }
    }

    /// Elements that all threads compute.
    pub fn elements(&self) -> usize {
        self.count * self.length.max(1)
    }
}

/// Launches, and bytes of memory for parts between them.
#[derive(Default)]
struct Plan {
    rounds: Vec<Round>,
    bytes: usize,
}

impl Plan {
    /// Memory for parts.
    fn memory(&mut self, elements: usize, size: usize) -> Value {
        let at = self.bytes;
        self.bytes += (elements * size).next_multiple_of(ACCESS);
        Value::Parts(at)
    }
}

/// The views of a space: bytes of an element, whether the first byte is a multiple of 16, and where it is.
#[derive(Clone)]
struct Source {
    sizes: Vec<usize>,
    aligned: Vec<bool>,
    views: Vec<Value>,
    /// They are parts, no operands.
    of_parts: bool,
}

/// The launches of an expression, and bytes of memory for parts between them.
pub fn rounds(expression: &Expression, space: &Space) -> (Vec<Round>, usize) {
    let mut sizes = sizes(expression);
    let mut plan = Plan::default();
    let size = expression.fold_type().map(|ty| ty.size());
    if space.form == FoldForm::Scan {
        sizes.extend(size);
    }
    let source = Source {
        views: (0..sizes.len()).map(Value::View).collect(),
        sizes,
        aligned: space.aligned.clone(),
        of_parts: false,
    };
    match (size, space.form) {
        (None, _) if space.shape.contains(&0) => {}
        (None, _) => plan.rounds.push(elementwise(Merged::new(space), source)),
        (Some(size), FoldForm::Value) => folds(&mut plan, space, source, size, Value::Target),
        (Some(_), FoldForm::Position) => {
            folds(&mut plan, space, source, size_of::<u64>(), Value::Target);
        }
        (Some(size), FoldForm::Scan) => scan::rounds(&mut plan, space, source, size),
    }
    (plan.rounds, plan.bytes)
}

/// Adds the launches of a fold to elements of `size` bytes.
fn folds(plan: &mut Plan, space: &Space, mut source: Source, size: usize, target: Value) {
    let mut merged = Merged::new(space);
    if merged.count() == 0 {
        return;
    }
    let positions = space.form == FoldForm::Position;
    loop {
        let strides_of_target = merged.target.clone();
        let mut round = fold(merged, &source, size);
        round.layout.position_words = positions && !round.of_parts;
        round.layout.position_target = positions && round.parts == 1;
        let (parts, count) = (round.parts, round.count);
        let columns = round.layout.sharing == Some(Sharing::Columns);
        let kept = round.layout.kept();
        let shape: Vec<usize> = round.space.shape[..kept].to_vec();
        if parts == 1 {
            round.target = target;
            plan.rounds.push(round);
            return;
        }
        let memory = plan.memory(parts * count, size);
        round.target = memory;
        plan.rounds.push(round);
        // The parts of an element stand one behind the other, or one part of all elements behind the other.
        let part = if columns { count } else { 1 } * size;
        let strides = row_major(&shape, if columns { 1 } else { parts } * size);
        merged = Merged {
            shape: [shape, vec![parts]].concat(),
            strides: vec![[strides, vec![part as isize]].concat()],
            target: strides_of_target,
            folded: 1,
        };
        source = Source {
            sizes: vec![size],
            aligned: vec![true],
            views: vec![memory],
            of_parts: true,
        };
    }
}

/// Bytes along each dimension of elements in row-major order that are `step` apart.
fn row_major(shape: &[usize], mut step: usize) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    for (stride, &extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step as isize;
        step *= extent;
    }
    strides
}

fn sizes(expression: &Expression) -> Vec<usize> {
    let outputs = expression.output_types();
    let all = expression.operand_types().iter().chain(&outputs);
    all.map(|ty| ty.size()).collect()
}

/// True if 32 bits do not count the elements. Half of what they could: Apple GPUs divide larger numbers wrongly.
fn wide(elements: usize) -> bool {
    elements.saturating_add(BEYOND) > i32::MAX as usize
}

fn elementwise(space: Merged, source: Source) -> Round {
    let rank = space.shape.len();
    let inner = rank.checked_sub(1);
    let (width, found) = space.accesses(inner, rank == 1, &source.sizes, &source.aligned);
    let count = space.count();
    let tiled = space.tiled(&source.sizes, width);
    let threads = match tiled {
        Some(d) => {
            let (rows, columns) = (space.shape[d], space.shape[rank - 1]);
            let tiles = rows.div_ceil(TILE) * columns.div_ceil(GROUP as usize / TILE * width);
            count / (rows * columns) * tiles * GROUP as usize
        }
        None => count.div_ceil(width),
    };
    let accesses = found.into_iter().enumerate();
    let accesses = accesses.map(|(view, inner)| Access {
        dense: space.is_dense(view, source.sizes[view]),
        inner,
    });
    Round {
        layout: Layout {
            rank,
            folded: 0,
            width,
            wide: wide(threads.saturating_mul(width)),
            tiled,
            views: accesses.collect(),
            sharing: None,
            parts: false,
            position_words: false,
            position_target: false,
            target: Inner::Same,
            scan: None,
        },
        of_parts: source.of_parts,
        threads,
        count,
        length: 0,
        parts: 1,
        tile: 0,
        space,
        views: source.views,
        target: Value::Number(0),
        before: Value::Number(0),
    }
}

fn fold(mut space: Merged, source: &Source, size: usize) -> Round {
    space.fold_something();
    let (count, length, kept, rank) = (
        space.count(),
        space.length(),
        space.kept(),
        space.shape.len(),
    );
    let columns = space.nearest().is_some_and(|d| d < kept);
    let inner = if columns { kept - 1 } else { rank - 1 };
    let ragged = !columns && space.folded == 1;
    let (width, found) = space.accesses(Some(inner), ragged, &source.sizes, &source.aligned);
    let accesses = length / width;
    let (sharing, parts) = if columns {
        let most = (THREADS / (count / width).max(1))
            .min(length / PART)
            .min(MOST_PARTS);
        (
            Sharing::Columns,
            if length <= FEW { 1 } else { most.max(1) },
        )
    } else if accesses <= SHORT && (count >= MANY || accesses <= 1) {
        (Sharing::Rows(1), 1)
    } else if accesses <= MEDIUM && count >= MANY {
        (Sharing::Rows(32), 1)
    } else {
        let most = accesses / (GROUP as usize * WORTH);
        (Sharing::Rows(GROUP), (GROUPS / count).clamp(1, most.max(1)))
    };
    let threads = match sharing {
        Sharing::Columns => count / width * parts,
        Sharing::Rows(1) => count * parts,
        Sharing::Rows(threads) => (count * parts).div_ceil((GROUP / threads) as usize),
    };
    let target_step = space.target.last().copied().unwrap_or(0);
    let target = if columns && target_step == size as isize && width == 1 {
        Inner::Vector
    } else {
        Inner::Apart
    };
    Round {
        layout: Layout {
            rank,
            folded: space.folded,
            width,
            wide: wide(count.saturating_mul(length.max(parts))),
            tiled: None,
            views: found
                .into_iter()
                .map(|inner| Access {
                    dense: false,
                    inner,
                })
                .collect(),
            sharing: Some(sharing),
            parts: parts > 1,
            position_words: false,
            position_target: false,
            target,
            scan: None,
        },
        of_parts: source.of_parts,
        threads,
        count,
        length,
        parts,
        tile: 0,
        space,
        views: source.views.clone(),
        target: Value::Target,
        before: Value::Number(0),
    }
}
