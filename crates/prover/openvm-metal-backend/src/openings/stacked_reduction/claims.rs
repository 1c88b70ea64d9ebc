//! Columns and their openings: columns by height, neighbouring columns, their weights.

use openvm_stark_backend::prover::stacked_pcs::StackedLayout;
use p3_field::PrimeCharacteristicRing;

use crate::{error::MetalProverError, prelude::EF, stacked::StackedRange, tensor::powers};

/// One commitment as the stacked reduction sees it.
#[derive(Clone, Copy)]
pub struct StackedCommit<'a> {
    /// Layout of the columns of each matrix.
    pub layout: &'a StackedLayout,
    /// The cells of the stacked matrix.
    pub ranges: &'a [StackedRange],
    /// For each matrix, whether its columns are opened at their rotation too.
    pub need_rot: &'a [bool],
}

/// All columns of one log-height.
pub(super) struct Height {
    pub log_height: usize,
    /// `log_height - l_skip`.
    pub n: isize,
    /// Rows in the stacked matrix, as a logarithm: `max(log_height, l_skip)`.
    pub log_rows: usize,
    /// The columns, by range.
    pub column_ranges: Vec<ColumnRange>,
}

impl Height {
    /// Hypercube variables of the columns once lifted: `max(n, 0)`.
    pub fn n_lift(&self) -> usize {
        self.n.max(0) as usize
    }

    /// Rows in the stacked matrix.
    pub fn rows(&self) -> usize {
        1 << self.log_rows
    }
}

/// Neighbouring columns of one height in one range.
#[derive(Clone, Debug)]
pub(super) struct ColumnRange {
    /// Index of the range in [`Claims::ranges`].
    pub source: usize,
    /// First cell, relative to the range.
    pub cells: u64,
    /// First cell over the stacked matrices of all commitments.
    pub start: u64,
    pub columns: usize,
    /// Index of the first column among the columns of all commitments.
    pub first_column: usize,
    pub rotated: bool,
}

/// The columns of all commitments.
pub(super) struct Claims {
    /// By falling log-height.
    pub heights: Vec<Height>,
    /// The ranges that hold columns: commitment and index in it.
    pub ranges: Vec<(usize, usize)>,
    /// For each column: does the rotated opening exist.
    pub rotated: Vec<bool>,
}

impl Claims {
    pub fn new(l_skip: usize, commits: &[StackedCommit<'_>]) -> Result<Self, MetalProverError> {
        let mut claims = Self {
            heights: Vec::new(),
            ranges: Vec::new(),
            rotated: Vec::new(),
        };
        let mut first_cell = 0;
        for (commit, data) in commits.iter().enumerate() {
            claims.add_commit(l_skip, commit, data, first_cell)?;
            first_cell += data.layout.height() as u64 * data.layout.width() as u64;
        }
        claims
            .heights
            .sort_by_key(|h| std::cmp::Reverse(h.log_height));
        Ok(claims)
    }

    /// `lambda^(2 i)` and `lambda^(2 i + 1)` for each column `i`, the latter 0 without rotation.
    pub fn weights(&self, lambda: EF) -> Vec<EF> {
        let mut weights = powers(lambda, 2 * self.rotated.len());
        for (pair, &rotated) in weights.chunks_exact_mut(2).zip(&self.rotated) {
            if !rotated {
                pair[1] = EF::ZERO;
            }
        }
        weights
    }

    fn add_commit(
        &mut self,
        l_skip: usize,
        commit: usize,
        data: &StackedCommit<'_>,
        first_cell: u64,
    ) -> Result<(), MetalProverError> {
        let mut sources = vec![None; data.ranges.len()];
        let stacked_height = data.layout.height() as u64;
        let columns = &data.layout.sorted_cols;
        let mut i = 0;
        while i < columns.len() {
            let (_, _, slice) = columns[i];
            let log_height = slice.log_height();
            let len = columns[i..]
                .iter()
                .take_while(|c| c.2.log_height() == log_height)
                .count();
            let first_column = self.rotated.len();
            for &(matrix, _, _) in &columns[i..i + len] {
                let need_rot = data.need_rot.get(matrix).copied().ok_or_else(|| {
                    internal(format!(
                        "commitment {commit} has no rotation flag for matrix {matrix}"
                    ))
                })?;
                self.rotated.push(need_rot);
            }
            let start = slice.col_idx as u64 * stacked_height + slice.row_idx as u64;
            let at = match self.heights.iter().position(|h| h.log_height == log_height) {
                Some(at) => at,
                None => {
                    self.heights.push(Height {
                        log_height,
                        n: log_height as isize - l_skip as isize,
                        log_rows: log_height.max(l_skip),
                        column_ranges: Vec::new(),
                    });
                    self.heights.len() - 1
                }
            };
            let neighbours = CommittedColumns {
                commit,
                first_cell,
                start,
                columns: len,
                first_column,
            };
            neighbours.split(self, data.ranges, &mut sources, at)?;
            i += len;
        }
        Ok(())
    }
}

/// Neighbouring columns of one height in one commitment.
struct CommittedColumns {
    commit: usize,
    /// First cell of the commitment, counted over all commitments.
    first_cell: u64,
    /// First cell of the columns in the commitment.
    start: u64,
    columns: usize,
    first_column: usize,
}

impl CommittedColumns {
    /// Adds those in each range to a height; `sources` has the index of each range of the commitment, once it has one.
    fn split(
        &self,
        claims: &mut Claims,
        ranges: &[StackedRange],
        sources: &mut [Option<usize>],
        height: usize,
    ) -> Result<(), MetalProverError> {
        let height = &mut claims.heights[height];
        let rows = height.rows() as u64;
        let end = self.start + self.columns as u64 * rows;
        let mut covered = 0;
        for (range, data) in ranges.iter().enumerate() {
            let from = data.start.max(self.start);
            let to = (data.start + data.cells.len() as u64).min(end);
            if from >= to {
                continue;
            }
            let (skipped, len) = (from - self.start, to - from);
            if !skipped.is_multiple_of(rows) || !len.is_multiple_of(rows) {
                return Err(internal(format!(
                    "range {range} of commitment {} cuts a column of 2^{} rows",
                    self.commit, height.log_rows
                )));
            }
            let (skipped, columns) = ((skipped / rows) as usize, (len / rows) as usize);
            let first_column = self.first_column + skipped;
            let source = *sources[range].get_or_insert_with(|| {
                claims.ranges.push((self.commit, range));
                claims.ranges.len() - 1
            });
            height.column_ranges.push(ColumnRange {
                source,
                cells: from - data.start,
                start: self.first_cell + from,
                columns,
                first_column,
                rotated: claims.rotated[first_column..first_column + columns].contains(&true),
            });
            covered += columns;
        }
        if covered != self.columns {
            return Err(internal(format!(
                "ranges of commitment {} hold {covered} of {} columns of 2^{} rows",
                self.commit, self.columns, height.log_rows
            )));
        }
        Ok(())
    }
}

pub(super) fn internal(detail: String) -> MetalProverError {
    MetalProverError::internal("openings.stacked_reduction", detail)
}
