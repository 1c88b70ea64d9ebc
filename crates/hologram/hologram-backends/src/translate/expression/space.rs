//! The elements that an expression goes through: dimensions ordered and merged, and how threads reach views.

use super::layout::{Inner, TILE};
use super::GROUP;
use crate::backend::views::FoldForm;

/// Bytes of one access.
pub const ACCESS: usize = 16;
/// Most elements that a thread takes at once.
const MOST_WIDTH: usize = 8;

/// Iteration space of a computation; strides in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Space {
    /// Extents.
    pub shape: Vec<usize>,
    /// Strides of operands, then of outputs, or of a scan's target.
    pub strides: Vec<Vec<isize>>,
    /// True if the first byte of each view is a multiple of 16 in memory.
    pub aligned: Vec<bool>,
    /// Flags of the folded dimensions.
    pub folded: Vec<bool>,
    /// Strides of the fold's target; those along folded dimensions do not count. Empty of a scan.
    pub target: Vec<isize>,
    /// Result of the fold.
    pub form: FoldForm,
}

/// The same elements with the fewest dimensions: kept ones first, then folded ones, the outermost in memory first.
#[derive(Clone, Debug)]
pub struct Merged {
    pub shape: Vec<usize>,
    pub strides: Vec<Vec<isize>>,
    /// Along kept dimensions.
    pub target: Vec<isize>,
    /// Number of folded dimensions.
    pub folded: usize,
}

impl Merged {
    pub fn new(space: &Space) -> Self {
        // The view that tells how far dimensions are apart in memory: what is written, or the one with most elements.
        let leading = match space.target.is_empty() {
            true => space.strides.last(),
            false => space
                .strides
                .iter()
                .max_by_key(|strides| elements(strides, &space.shape)),
        };
        let far = |d: usize| leading.map_or(0, |strides| strides[d].unsigned_abs());
        let mut dims: Vec<usize> = (0..space.shape.len())
            .filter(|&d| space.shape[d] != 1)
            .collect();
        // Where indices count, what is folded stays in its order.
        let order = |d: usize| match space.folded[d] && space.form == FoldForm::Position {
            true => 0,
            false => far(d),
        };
        dims.sort_by_key(|&d| (space.folded[d], std::cmp::Reverse(order(d))));
        let mut out = Self {
            shape: Vec::new(),
            strides: vec![Vec::new(); space.strides.len()],
            target: Vec::new(),
            folded: 0,
        };
        let mut last: Option<usize> = None;
        for d in dims {
            let extent = space.shape[d];
            let joins = last.is_some_and(|last| {
                let continues = |s: &[isize]| s[last] == s[d].wrapping_mul(extent as isize);
                space.folded[last] == space.folded[d]
                    && space.strides.iter().all(|s| continues(s))
                    && (space.folded[d] || space.target.is_empty() || continues(&space.target))
            });
            if joins {
                *out.shape.last_mut().unwrap_or(&mut 0) *= extent;
                for (merged, strides) in out.strides.iter_mut().zip(&space.strides) {
                    merged.pop();
                    merged.push(strides[d]);
                }
                if let (false, Some(stride)) = (space.folded[d], out.target.last_mut()) {
                    *stride = space.target[d];
                }
            } else {
                out.shape.push(extent);
                for (merged, strides) in out.strides.iter_mut().zip(&space.strides) {
                    merged.push(strides[d]);
                }
                out.folded += usize::from(space.folded[d]);
                if !space.folded[d] && !space.target.is_empty() {
                    out.target.push(space.target[d]);
                }
            }
            last = Some(d);
        }
        out
    }

    pub fn kept(&self) -> usize {
        self.shape.len() - self.folded
    }

    /// Elements that are kept.
    pub fn count(&self) -> usize {
        self.shape[..self.kept()].iter().product()
    }

    /// Elements that are folded into one.
    pub fn length(&self) -> usize {
        self.shape[self.kept()..].iter().product()
    }

    /// One element is folded into each where no dimension is.
    pub fn fold_something(&mut self) {
        if self.folded == 0 {
            self.shape.push(1);
            self.strides.iter_mut().for_each(|strides| strides.push(0));
            self.folded = 1;
        }
    }

    /// Dimension whose neighbours meet in memory: the one with the smallest step of a view that is read or written whole.
    pub fn nearest(&self) -> Option<usize> {
        let reach = |strides: &Vec<isize>| elements(strides, &self.shape);
        let most = self.strides.iter().map(reach).max();
        let step = |d: usize| {
            let all = self.strides.iter();
            let whole = all.filter(|&strides| Some(reach(strides)) == most);
            let steps = whole.map(|strides| strides[d].unsigned_abs());
            steps.filter(|&step| step != 0).min()
        };
        let steps = (0..self.shape.len()).filter_map(|d| step(d).map(|step| (step, d)));
        steps.min().map(|(_, d)| d)
    }

    /// True if a view is row-major and dense over all dimensions.
    pub fn is_dense(&self, view: usize, size: usize) -> bool {
        let mut step = size as isize;
        let mut dims = self.strides[view].iter().zip(&self.shape).rev();
        dims.all(|(&stride, &extent)| {
            let fits = stride == step;
            step = step.wrapping_mul(extent as isize);
            fits
        })
    }

    /// The dimension along which some view lies while what is written lies along the innermost one, both long enough for tiles.
    pub fn tiled(&self, sizes: &[usize], width: usize) -> Option<usize> {
        let inner = self.shape.len().checked_sub(1)?;
        let long = |d: usize| self.shape[d] >= TILE;
        let across = |view: usize| {
            let strides = &self.strides[view];
            let lies = |&d: &usize| strides[d].unsigned_abs() == sizes[view] && long(d);
            let apart = strides[inner].unsigned_abs() >= TILE;
            (0..inner).find(lies).filter(|_| apart)
        };
        let fits = self.shape[inner] >= GROUP as usize / TILE * width;
        (0..sizes.len()).find_map(across).filter(|_| fits)
    }

    /// Elements that a thread takes along dimension `inner`, of any number if `ragged`, and how it reaches each view.
    pub fn accesses(
        &self,
        inner: Option<usize>,
        ragged: bool,
        sizes: &[usize],
        aligned: &[bool],
    ) -> (usize, Vec<Inner>) {
        let along = |view: usize| inner.map_or(0, |d| self.strides[view][d]);
        let dense = |view: usize| along(view) == sizes[view] as isize;
        let widest = (0..sizes.len())
            .filter(|&v| dense(v))
            .map(|v| sizes[v])
            .max();
        let mut width = widest.map_or(1, |size| (ACCESS / size).min(MOST_WIDTH));
        let extent = inner.map_or(1, |d| self.shape[d]);
        while width > 1 && (extent < width || (!ragged && !extent.is_multiple_of(width))) {
            width /= 2;
        }
        let fits = |view: usize| {
            let bytes = (width * sizes[view]) as isize;
            let mut others = (0..self.shape.len()).filter(|&d| Some(d) != inner);
            aligned[view] && others.all(|d| self.strides[view][d] % bytes == 0)
        };
        let found = (0..sizes.len()).map(|view| match along(view) {
            0 => Inner::Same,
            _ if dense(view) && (width == 1 || fits(view)) => Inner::Vector,
            _ => Inner::Apart,
        });
        let found: Vec<Inner> = found.collect();
        match found.contains(&Inner::Vector) {
            true => (width, found),
            false => (1, found),
        }
    }
}

/// Elements of a view over a shape, each once.
pub fn elements(strides: &[isize], shape: &[usize]) -> usize {
    let dims = strides.iter().zip(shape);
    let own = dims.filter(|(&stride, _)| stride != 0);
    own.map(|(_, &extent)| extent).product()
}
