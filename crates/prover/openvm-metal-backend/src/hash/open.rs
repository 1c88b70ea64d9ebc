//! Opened leaves and Merkle paths: gathered on the device, read with one wait for any number of trees and queries.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError, MetalSlice};
use rayon::prelude::*;

use super::{
    merkle::{MerkleCell, MerkleTreeMetal},
    scheme::HashScheme,
};
use crate::{
    kernels,
    params::MerkleOpenParams,
    prelude::{Digest, F},
};

/// Cells from which on opened rows are put together by several threads.
const MANY_CELLS: usize = 1 << 16;

/// Opened leaves of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Openings<T, D = Digest> {
    /// For each query, for each of the `rows_per_query` rows: the cells.
    pub rows: Vec<Vec<Vec<T>>>,
    /// For each query: the siblings on its path, lowest first.
    pub siblings: Vec<Vec<D>>,
}

/// Leaves that are being gathered from a tree.
pub(crate) struct OpeningInFlight<'a, T, SC: HashScheme> {
    tree: &'a MerkleTreeMetal<T, SC>,
    queries: &'a MetalBuffer<u32>,
    /// Gathered cells, column ranges in order: width of the range, rows of all queries.
    ranges: Vec<(usize, MetalBuffer<T>)>,
    /// Siblings, path after path; `None` for a tree of one leaf.
    paths: Option<MetalBuffer<SC::Node>>,
}

impl<T: MerkleCell, SC: HashScheme> MerkleTreeMetal<T, SC> {
    /// Opens leaves: two dispatches, one wait.
    ///
    /// # Errors
    /// If an index is not below [`query_stride`](Self::query_stride), if columns of the matrix were
    /// dropped, or if the device fails.
    pub fn open(
        &self,
        s: &CommandStream,
        indices: &[usize],
    ) -> Result<Openings<T, SC::Digest>, MetalError> {
        let stride = self.query_stride();
        if let Some(index) = indices.iter().find(|&&index| index >= stride) {
            let (expected, actual) = (
                "an index below the query stride",
                format!("{index} of {stride}"),
            );
            return Err(MetalError::argument_mismatch(
                "merkle_open",
                "query",
                expected,
                actual,
            ));
        }
        let queries: Vec<u32> = indices.iter().map(|&index| index as u32).collect();
        let queries = MetalBuffer::from_host(s, &queries)?;
        let mut gathering = self.gather(s, &queries)?;
        gathering.add_kept(s)?;
        let gathered = gathering.finish()?;
        let words = read_words(s, &gathered.slices()?)?;
        Ok(gathered.into_shape().assemble::<T, SC>(words))
    }

    /// Gathers the paths of leaves, which are below [`query_stride`](Self::query_stride): one dispatch, no wait. Columns are added to it.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn gather<'a>(
        &'a self,
        s: &CommandStream,
        queries: &'a MetalBuffer<u32>,
    ) -> Result<OpeningInFlight<'a, T, SC>, MetalError> {
        let mut opening = OpeningInFlight {
            tree: self,
            queries,
            ranges: Vec::with_capacity(1),
            paths: None,
        };
        let siblings = queries.len() * self.proof_depth();
        if siblings > 0 {
            let mut paths = MetalBuffer::uninit(s.context(), siblings)?;
            let (grid, p) = (Grid::threads(siblings), opening.params(0));
            let (layers, to) = (self.layers.as_slice().cast()?, paths.as_slice_mut().cast()?);
            kernels::merkle_siblings(s, grid, layers, queries, to, &p)?;
            opening.paths = Some(paths);
        }
        Ok(opening)
    }
}

impl<T: MerkleCell, SC: HashScheme> OpeningInFlight<'_, T, SC> {
    /// Gathers the cells of the columns that the tree has, which are the next: one dispatch.
    ///
    /// # Errors
    /// If the device fails.
    pub fn add_kept(&mut self, s: &CommandStream) -> Result<(), MetalError> {
        let columns = &self.tree.backing;
        let p = self.params(columns.width());
        if p.cells > 0 {
            let mut rows = MetalBuffer::uninit(s.context(), p.cells as usize)?;
            let grid = Grid::threads(p.cells as usize);
            T::rows(s, grid, columns.slice(), self.queries, &mut rows, &p)?;
            self.add_rows(columns.width(), rows);
        }
        Ok(())
    }

    /// Adds the cells of the next `width` columns: rows of all queries, one after another.
    pub fn add_rows(&mut self, width: usize, rows: MetalBuffer<T>) {
        self.ranges.push((width, rows));
    }

    /// The leaves that are opened.
    pub fn queries(&self) -> &MetalBuffer<u32> {
        self.queries
    }

    /// log2 of the rows of a leaf, and of the distance between two of them.
    pub fn log_rows_and_stride(&self) -> (u32, u32) {
        (self.tree.log_rows, self.tree.log_stride)
    }

    fn params(&self, width: usize) -> MerkleOpenParams {
        let tree = self.tree;
        let count = self.queries.len();
        MerkleOpenParams {
            height: tree.backing.height() as u64,
            cells: (count * tree.rows_per_query() * width) as u64,
            width: width as u32,
            log_rows: tree.log_rows,
            log_stride: tree.log_stride,
            siblings: (count * tree.proof_depth()) as u32,
        }
    }

    /// Gathered rows, once all columns were; the tree is not needed any more.
    ///
    /// # Errors
    /// If columns of the tree are missing.
    pub fn finish(self) -> Result<Gathered<T, SC>, MetalError> {
        let (gathered, width): (usize, _) =
            (self.ranges.iter().map(|r| r.0).sum(), self.tree.width);
        if gathered != width && !self.queries.is_empty() {
            let actual = format!("{gathered} of {width}");
            return Err(MetalError::argument_mismatch(
                "merkle_open",
                "matrix",
                "all columns",
                actual,
            ));
        }
        Ok(Gathered {
            queries: self.queries.len(),
            rows_per_query: self.tree.rows_per_query(),
            depth: self.tree.proof_depth(),
            ranges: self.ranges,
            paths: self.paths,
        })
    }
}

/// Leaves and paths that were gathered from a tree and wait to be read.
pub(crate) struct Gathered<T, SC: HashScheme> {
    queries: usize,
    rows_per_query: usize,
    depth: usize,
    /// Column ranges in order: width of the range, rows of all queries.
    ranges: Vec<(usize, MetalBuffer<T>)>,
    /// Siblings, path after path; `None` for a tree of one leaf.
    paths: Option<MetalBuffer<SC::Node>>,
}

impl<T: MerkleCell, SC: HashScheme> Gathered<T, SC> {
    /// Slices to be read, as words.
    ///
    /// # Errors
    /// None for types of whole words.
    pub fn slices(&self) -> Result<Vec<MetalSlice<'_, F>>, MetalError> {
        let cells = self
            .ranges
            .iter()
            .map(|(_, cells)| cells.as_slice().cast::<F>());
        let paths = self.paths.iter().map(|paths| paths.as_slice().cast::<F>());
        cells.chain(paths).collect()
    }

    /// The shape alone, once everything was read: the device's memory is given back.
    pub fn into_shape(self) -> OpeningShape {
        OpeningShape {
            queries: self.queries,
            rows_per_query: self.rows_per_query,
            depth: self.depth,
            widths: self.ranges.iter().map(|(width, _)| *width).collect(),
            paths: self.paths.is_some(),
        }
    }
}

/// Shape of rows and paths.
pub(crate) struct OpeningShape {
    queries: usize,
    rows_per_query: usize,
    depth: usize,
    /// Widths of the column ranges, in order.
    widths: Vec<usize>,
    /// True if there are paths.
    paths: bool,
}

impl OpeningShape {
    /// Number of its slices among those that are read.
    pub fn slices(&self) -> usize {
        self.widths.len() + usize::from(self.paths)
    }

    /// The rows and paths in the shape of the proof, from the words of [`Gathered::slices`].
    pub fn assemble<T: MerkleCell, SC: HashScheme>(
        &self,
        words: Vec<Vec<F>>,
    ) -> Openings<T, SC::Digest> {
        let mut words = words.into_iter();
        let cells = words.by_ref().take(self.widths.len());
        let cells: Vec<Vec<T>> = cells.map(T::from_words).collect();
        let siblings: Vec<SC::Digest> = match self.paths {
            true => SC::digests(&words.next().unwrap_or_default()),
            false => vec![],
        };
        let row_width = self.widths.iter().sum();
        let row = |index: usize| {
            let mut row = Vec::with_capacity(row_width);
            for (width, cells) in self.widths.iter().zip(&cells) {
                row.extend_from_slice(&cells[index * width..][..*width]);
            }
            row
        };
        let of_query = |query: usize| -> Vec<Vec<T>> {
            let first = query * self.rows_per_query;
            (first..first + self.rows_per_query).map(row).collect()
        };
        let queries = 0..self.queries;
        // Each row is new memory, which the system brings page by page: 8 to 16 MB for a circuit of some thousand columns.
        let rows = match self.queries * self.rows_per_query * row_width < MANY_CELLS {
            true => queries.map(of_query).collect(),
            false => queries.into_par_iter().map(of_query).collect(),
        };
        let siblings = match self.depth {
            0 => vec![vec![]; self.queries],
            depth => siblings.chunks_exact(depth).map(<[_]>::to_vec).collect(),
        };
        Openings { rows, siblings }
    }
}

/// Reads all slices: one wait, none if there is nothing to read.
///
/// # Errors
/// If the device fails.
pub(crate) fn read_words(
    s: &CommandStream,
    slices: &[MetalSlice<'_, F>],
) -> Result<Vec<Vec<F>>, MetalError> {
    match slices {
        [] => Ok(vec![]),
        _ => s.read_many(slices),
    }
}
