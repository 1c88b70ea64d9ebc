//! The value of every column at the point bound so far: the second and last pass over the matrices.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer};
use p3_field::PrimeCharacteristicRing;

use super::claims::{Height, Piece, StackedCommit};
use crate::{
    error::MetalProverError,
    kernels,
    openings::tables,
    params::{StackedRun, StackedRunParams},
    prelude::{EF, F},
};

/// Low factor of the row weights: `2^11` elements, 32 KiB.
const LOG_LOW: usize = 11;
/// Threadgroups that fill a large GPU, as a logarithm.
const LOG_GROUPS: usize = 10;
/// Threads of a threadgroup.
const THREADS: u32 = 256;

/// Weights of the rows of a column, `weight(row) = high[row >> log_low] low[row mod 2^log_low]`.
pub(super) struct RowWeights {
    low: MetalBuffer<F>,
    high: MetalBuffer<EF>,
    log_low: usize,
    log_rows: usize,
}

impl RowWeights {
    /// `weight(z + 2^l_skip x) = lagrange[z] eq(u, x)`.
    pub fn new(s: &CommandStream, lagrange: &[EF], u: &[EF]) -> Result<Self, MetalProverError> {
        let l_skip = lagrange.len().ilog2() as usize;
        let bits = tables::eq_bits(u);
        let split = bits.len().min(LOG_LOW.saturating_sub(l_skip));
        let low: Vec<EF> = tables::expand(&bits[..split], EF::ONE)
            .into_iter()
            .flat_map(|t| lagrange.iter().map(move |&l| t * l))
            .collect();
        let high = tables::expand(&bits[split..], EF::ONE);
        Ok(Self {
            low: MetalBuffer::from_host(s, &tables::planes(&low))?,
            high: MetalBuffer::from_host(s, &high)?,
            log_low: l_skip + split,
            log_rows: l_skip + bits.len(),
        })
    }
}

/// Column values that are being computed.
pub(super) struct ColumnValues {
    /// For each piece, and in it for each column, `2^log_parts` summands.
    out: MetalBuffer<EF>,
    pieces: Vec<(usize, Piece)>,
    log_parts: usize,
}

impl ColumnValues {
    /// Encodes the values of all columns of `heights` (indices given, all of the same number of rows):
    /// one dispatch for each segment.
    pub fn encode(
        s: &CommandStream,
        heights: &[(usize, &Height)],
        commits: &[StackedCommit<'_>],
        weights: &RowWeights,
    ) -> Result<Self, MetalProverError> {
        let mut pieces: Vec<(usize, Piece)> = heights
            .iter()
            .flat_map(|&(i, height)| height.pieces.iter().map(move |p| (i, p.clone())))
            .collect();
        pieces.sort_by_key(|(_, p)| (p.commit, p.segment));
        let columns: usize = pieces.iter().map(|(_, p)| p.columns).sum();
        let wanted = LOG_GROUPS.saturating_sub(columns.max(1).ilog2() as usize);
        let log_parts = wanted.min(weights.log_rows - weights.log_low);
        let mut runs = Vec::with_capacity(pieces.len());
        let mut out = 0;
        for of_segment in pieces.chunk_by(|a, b| same_segment(&a.1, &b.1)) {
            let mut first_group = 0;
            for (_, piece) in of_segment {
                runs.push(StackedRun {
                    cells: piece.cells,
                    out: out as u64,
                    log_rows: weights.log_rows as u32,
                    columns: piece.columns as u32,
                    first_group,
                    log_block: (weights.log_rows - log_parts) as u32,
                    ..StackedRun::default()
                });
                first_group += (piece.columns << log_parts) as u32;
                out += piece.columns << log_parts;
            }
        }
        let mut values = Self {
            out: MetalBuffer::uninit(s.context(), out)?,
            pieces,
            log_parts,
        };
        let runs = MetalBuffer::from_host(s, &runs)?;
        let threads = THREADS.min(1 << weights.log_low);
        let mut first = 0;
        for of_segment in values.pieces.chunk_by(|a, b| same_segment(&a.1, &b.1)) {
            let piece = &of_segment[0].1;
            let columns: usize = of_segment.iter().map(|(_, p)| p.columns).sum();
            let groups = columns << log_parts;
            let total = (columns << weights.log_rows) as u64;
            // SAFETY: `groups` counts the parts of the runs; their columns are cells of this segment, `out`
            // has a place for each part, `high` and `low` cover a column and a part is no smaller than `low`.
            let launched = unsafe {
                kernels::stacked_column_values(
                    s,
                    Grid::groups(groups as u32, threads),
                    commits[piece.commit].segments[piece.segment].cells.slice(),
                    &weights.low,
                    &weights.high,
                    runs.slice(first..first + of_segment.len()),
                    &mut values.out,
                    &StackedRunParams {
                        runs: of_segment.len() as u32,
                        log_low: weights.log_low as u32,
                    },
                    total,
                )
            };
            launched?;
            first += of_segment.len();
        }
        Ok(values)
    }

    /// What to read back.
    pub fn buffer(&self) -> &MetalBuffer<EF> {
        &self.out
    }

    /// Calls `each(height index, piece, values of its columns)`.
    pub fn finish(&self, read: &[EF], mut each: impl FnMut(usize, &Piece, &[EF])) {
        let mut rest = read;
        for (height, piece) in &self.pieces {
            let (parts, tail) = rest.split_at(piece.columns << self.log_parts);
            let values: Vec<EF> = parts
                .chunks_exact(1 << self.log_parts)
                .map(|p| p.iter().copied().sum())
                .collect();
            each(*height, piece, &values);
            rest = tail;
        }
    }
}

fn same_segment(a: &Piece, b: &Piece) -> bool {
    (a.commit, a.segment) == (b.commit, b.segment)
}
