//! Opened leaves and Merkle paths: gathered on the device, read with one wait for any number of trees.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError};

use super::merkle::{MerkleCell, MerkleTreeMetal};
use crate::{kernels, matrix::MetalMatrix, params::MerkleOpenParams, prelude::Digest};

/// Opened leaves of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Openings<T> {
    /// For each query, for each of the `rows_per_query` rows: the cells.
    pub rows: Vec<Vec<Vec<T>>>,
    /// For each query: the siblings on its path, lowest first.
    pub siblings: Vec<Vec<Digest>>,
}

/// Leaves that are being gathered from a tree.
pub(crate) struct OpeningInFlight<'a, T> {
    tree: &'a MerkleTreeMetal<T>,
    queries: MetalBuffer<u32>,
    /// Gathered cells, column ranges in order: width of the range, rows of all queries.
    ranges: Vec<(usize, MetalBuffer<T>)>,
    /// Siblings, path after path; `None` for a tree of one leaf.
    paths: Option<MetalBuffer<Digest>>,
}

impl<T: MerkleCell> MerkleTreeMetal<T> {
    /// Opens leaves: two dispatches, and one wait for the rows and one for the paths.
    ///
    /// # Errors
    /// If an index is not below [`query_stride`](Self::query_stride), if columns of the matrix were
    /// dropped, or if the device fails.
    pub fn open(&self, s: &CommandStream, indices: &[usize]) -> Result<Openings<T>, MetalError> {
        let opened = finish_openings(s, vec![self.begin_open(s, indices)?])?;
        Ok(opened.into_iter().next().unwrap_or(Openings {
            rows: vec![],
            siblings: vec![],
        }))
    }

    /// Gathers the kept columns of leaves, and their paths: two dispatches, no wait. What was dropped
    /// is added by [`OpeningInFlight::add_columns`].
    ///
    /// # Errors
    /// If an index is not below [`query_stride`](Self::query_stride), or if the device fails.
    pub(crate) fn begin_open(
        &self,
        s: &CommandStream,
        indices: &[usize],
    ) -> Result<OpeningInFlight<'_, T>, MetalError> {
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
        let mut opening = OpeningInFlight {
            tree: self,
            queries: MetalBuffer::from_host(s, &queries)?,
            ranges: Vec::with_capacity(1),
            paths: None,
        };
        if self.backing.width() > 0 {
            opening.add_columns(s, &self.backing)?;
        }
        let siblings = indices.len() * self.proof_depth();
        if siblings > 0 {
            let mut paths = MetalBuffer::uninit(s.context(), siblings)?;
            let (grid, p) = (Grid::threads(siblings), opening.params(0));
            kernels::merkle_siblings(s, grid, &self.layers, &opening.queries, &mut paths, &p)?;
            opening.paths = Some(paths);
        }
        Ok(opening)
    }
}

impl<T: MerkleCell> OpeningInFlight<'_, T> {
    /// Gathers the cells of the next columns; `columns` is free afterwards, in the order of the stream.
    ///
    /// # Errors
    /// If `columns` has not the height of the tree's matrix, or if the device fails.
    pub fn add_columns(
        &mut self,
        s: &CommandStream,
        columns: &MetalMatrix<T>,
    ) -> Result<(), MetalError> {
        let (height, actual) = (self.tree.backing.height(), columns.height());
        if height != actual {
            let expected = "columns of the tree's height";
            return Err(MetalError::argument_mismatch(
                "merkle_open",
                "matrix",
                expected,
                format!("{actual} of {height}"),
            ));
        }
        let p = self.params(columns.width());
        if p.cells > 0 {
            let mut rows = MetalBuffer::uninit(s.context(), p.cells as usize)?;
            let grid = Grid::threads(p.cells as usize);
            T::rows(s, grid, columns.slice(), &self.queries, &mut rows, &p)?;
            self.ranges.push((columns.width(), rows));
        }
        Ok(())
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

    /// The gathered cells of each part and the siblings, in the shape of the proof.
    fn assemble(&self, cells: &[Vec<T>], siblings: &[Digest]) -> Openings<T> {
        let (count, rows_per_query) = (self.queries.len(), self.tree.rows_per_query());
        let row = |index: usize| {
            let ranges = self.ranges.iter().zip(cells);
            let cells = ranges.flat_map(|((width, _), cells)| &cells[index * width..][..*width]);
            cells.copied().collect()
        };
        let rows = (0..count)
            .map(|query| {
                let first = query * rows_per_query;
                (first..first + rows_per_query).map(row).collect()
            })
            .collect();
        let siblings = match self.tree.proof_depth() {
            0 => vec![vec![]; count],
            depth => siblings.chunks_exact(depth).map(<[_]>::to_vec).collect(),
        };
        Openings { rows, siblings }
    }
}

/// Reads what was gathered from all trees: one wait for the cells and one for the paths.
///
/// # Errors
/// If columns of a tree are missing, or if the device fails.
pub(crate) fn finish_openings<T: MerkleCell>(
    s: &CommandStream,
    openings: Vec<OpeningInFlight<'_, T>>,
) -> Result<Vec<Openings<T>>, MetalError> {
    for opening in &openings {
        let gathered: usize = opening.ranges.iter().map(|&(width, _)| width).sum();
        let width = opening.tree.width;
        if gathered != width && !opening.queries.is_empty() {
            let actual = format!("{gathered} of {width}");
            return Err(MetalError::argument_mismatch(
                "merkle_open",
                "matrix",
                "all columns",
                actual,
            ));
        }
    }
    let ranges = openings.iter().flat_map(|opening| &opening.ranges);
    let ranges: Vec<_> = ranges.map(|(_, cells)| cells.as_slice()).collect();
    let paths = openings.iter().filter_map(|opening| opening.paths.as_ref());
    let paths: Vec<_> = paths.map(|paths| paths.as_slice()).collect();
    let (mut cells, mut siblings) = (vec![], vec![].into_iter());
    if !ranges.is_empty() {
        cells = s.read_many(&ranges)?;
    }
    if !paths.is_empty() {
        siblings = s.read_many(&paths)?.into_iter();
    }
    let mut cells = cells.as_slice();
    let assembled = openings.iter().map(|opening| {
        let (own, rest) = cells.split_at(opening.ranges.len());
        cells = rest;
        let paths = match opening.paths {
            Some(_) => siblings.next().unwrap_or_default(),
            None => vec![],
        };
        opening.assemble(own, &paths)
    });
    Ok(assembled.collect())
}
