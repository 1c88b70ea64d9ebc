//! Properties that the source of an expression's kernel depends on, and the words of its parameters.

/// Threads of a tile along the dimension that is not the innermost.
pub const TILE: usize = 32;

/// Layout of one thread's elements in a view, along the innermost dimension that the thread goes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inner {
    /// One after the other, aligned to all of them: one access.
    Vector,
    /// The same element for all.
    Same,
    /// A stride apart, which is a parameter.
    Apart,
}

/// Access of a kernel to a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Row-major and dense over all dimensions: an element's place is its number.
    pub dense: bool,
    /// Along the innermost dimension.
    pub inner: Inner,
}

/// Distribution of a fold among threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// So many threads (1, 32 or 256) fold an element of the result together: neighbours in memory are folded.
    Rows(u32),
    /// A thread folds neighbouring elements of the result.
    Columns,
}

/// Form of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scan {
    /// Accesses of a thread of several that scan a row together.
    pub depth: usize,
    /// Rows go in parts; the fold of all before each is there.
    pub before: bool,
}

/// The shape of a kernel: kernels of equal expressions and layouts have one text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Dimensions, those that are kept first.
    pub rank: usize,
    /// Number of them that are folded.
    pub folded: usize,
    /// Elements that a thread takes at once.
    pub width: usize,
    /// Indices of 64 bits.
    pub wide: bool,
    /// Groups of threads take tiles of [`TILE`] elements along this dimension and as many threads' along the innermost one: some
    /// view lies along it.
    pub tiled: Option<usize>,
    /// Accesses of operands, then of outputs, or of a scan's target.
    pub views: Vec<Access>,
    /// Distribution of a fold.
    pub sharing: Option<Sharing>,
    /// The fold goes to parts, which another round folds, instead of its target.
    pub parts: bool,
    /// True if the folded words are an element and its position.
    pub position_words: bool,
    /// The fold goes to the target as the position of its word.
    pub position_target: bool,
    /// Access to the target along the innermost kept dimension.
    pub target: Inner,
    /// The fold of the elements up to each is written, along the one folded dimension.
    pub scan: Option<Scan>,
}

impl Layout {
    /// Dimensions that are kept: all without a fold.
    pub fn kept(&self) -> usize {
        self.rank - self.folded
    }
}

/// One 64-bit word of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// Elements of the space; of a fold those that are kept.
    Count,
    /// Elements that are folded into one.
    Length,
    /// Parts of each element of the result.
    Parts,
    /// Extent of a dimension.
    Extent(usize),
    /// First byte of a view, from the kernel's memory on.
    View(usize),
    /// Bytes along a dimension of a view.
    Stride(usize, usize),
    /// Bits of a scalar.
    Scalar(usize),
    /// First byte of the fold's target, or of the parts.
    Target,
    /// Bytes along a kept dimension of the target.
    TargetStride(usize),
    /// First byte of the folds of all before a part, of each part but the first.
    Before,
    /// Elements of a part of a column.
    Tile,
}

/// Words in the order in which the text first names them.
#[derive(Debug, Default)]
pub struct Words(pub Vec<Word>);

impl Words {
    /// The text of a word.
    pub fn text(&mut self, word: Word) -> String {
        let index = self.0.iter().position(|&known| known == word);
        let index = index.unwrap_or_else(|| {
            self.0.push(word);
            self.0.len() - 1
        });
        format!("P.v[{index}]")
    }
}
