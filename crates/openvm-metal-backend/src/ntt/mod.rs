//! Batched number-theoretic transforms, Reed-Solomon encoding and transposition.
//!
//! A transform of `2^n` elements is `n` stages, cut into passes of at most 8 stages; a pass keeps its
//! tile in threadgroup memory. All but the last pass work on rows that are far apart in memory, the
//! last one on neighbouring elements and undoes the bit reversal, for which it needs a second buffer.

mod plan;
mod roots;
#[cfg(test)]
mod tests;

use openvm_metal_common::{
    CommandStream, DeviceKind, Grid, MemCopyD2D, MetalBuffer, MetalError, MetalSlice, MetalSliceMut,
};
use p3_field::{Field, PrimeCharacteristicRing};

use self::plan::{plan, Pass};
use crate::{
    kernels,
    params::{NttParams, TransposeParams},
    poly::unfit,
    prelude::{EF, F},
};

/// Words of a scratch buffer that a batch of columns shares on a GPU (64 MiB).
const SCRATCH_WORDS: usize = 1 << 24;
/// The same on a CPU (8 MiB): a batch stays in its last-level cache from pass to pass.
const CPU_SCRATCH_WORDS: usize = 1 << 21;
/// Words in a row of a tile, log2.
const LOG_TILE_WORDS: u32 = 4;
/// Threads of every kernel here.
const THREADS: u32 = 256;

/// Which way to transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NttDirection {
    /// Coefficients to evaluations on the powers of the two-adic generator.
    Forward,
    /// Evaluations to coefficients.
    Inverse,
}

/// Columns of one batch: where they start and how they lie.
#[derive(Clone, Copy, Debug)]
struct Batch {
    log_n: u32,
    log_message: u32,
    log_cells: u32,
    columns: usize,
    /// Words between columns.
    stride: usize,
    direction: NttDirection,
}

/// Transforms `cols` columns of `2^log_n` elements in place, natural order in and out; column `j`
/// starts at element `j * col_stride`.
///
/// # Errors
/// If the columns do not fit into `data`, the size is over `2^27`, or the device fails.
pub fn ntt_batch(
    s: &CommandStream,
    data: &mut MetalSliceMut<'_, F>,
    log_n: usize,
    cols: usize,
    col_stride: usize,
    dir: NttDirection,
) -> Result<(), MetalError> {
    transform(
        s,
        data.reborrow(),
        Batch::new(log_n, log_n, 0, cols, col_stride, dir),
    )
}

/// [`ntt_batch`] for columns of extension elements.
///
/// # Errors
/// As [`ntt_batch`].
pub fn ntt_batch_ext(
    s: &CommandStream,
    data: &mut MetalSliceMut<'_, EF>,
    log_n: usize,
    cols: usize,
    col_stride: usize,
    dir: NttDirection,
) -> Result<(), MetalError> {
    let data = data.reborrow().cast::<F>()?;
    transform(s, data, Batch::new(log_n, log_n, 2, cols, col_stride, dir))
}

/// Reed-Solomon codewords of `cols` messages: the first `2^log_h` elements of each column of
/// `2^(log_h + log_blowup)` are the coefficients, the rest is ignored; the column becomes the
/// evaluations in natural order.
///
/// # Errors
/// As [`ntt_batch`].
pub fn rs_encode(
    s: &CommandStream,
    codewords: &mut MetalBuffer<F>,
    log_h: usize,
    log_blowup: usize,
    cols: usize,
) -> Result<(), MetalError> {
    let (log_n, dir) = (log_h + log_blowup, NttDirection::Forward);
    transform(
        s,
        codewords.as_slice_mut(),
        Batch::new(log_n, log_h, 0, cols, 1 << log_n, dir),
    )
}

/// [`rs_encode`] for messages of extension elements.
///
/// # Errors
/// As [`ntt_batch`].
pub fn rs_encode_ext(
    s: &CommandStream,
    codewords: &mut MetalBuffer<EF>,
    log_h: usize,
    log_blowup: usize,
    cols: usize,
) -> Result<(), MetalError> {
    let (log_n, dir) = (log_h + log_blowup, NttDirection::Forward);
    let data = codewords.as_slice_mut().cast::<F>()?;
    transform(s, data, Batch::new(log_n, log_h, 2, cols, 1 << log_n, dir))
}

/// `out[c * rows + r] = input[r * cols + c]`: row major to column major.
///
/// # Errors
/// If a slice is shorter than `rows * cols`, or the device fails.
pub fn transpose(
    s: &CommandStream,
    input: &MetalSlice<'_, F>,
    out: &mut MetalSliceMut<'_, F>,
    rows: usize,
    cols: usize,
) -> Result<(), MetalError> {
    let cells = rows.saturating_mul(cols);
    if input.len() < cells || out.len() < cells {
        let actual = format!("{} and {}", input.len(), out.len());
        return Err(unfit(
            "matrix_transpose_base",
            "in, out",
            "rows * cols elements",
            actual,
        ));
    }
    let p = TransposeParams {
        rows: rows as u64,
        cols: cols as u64,
    };
    let tiles = rows.div_ceil(32) * cols.div_ceil(32);
    let grid = Grid::groups(tiles as u32, THREADS);
    kernels::matrix_transpose_base(s, grid, *input, out.reborrow(), &p)
}

impl Batch {
    fn new(
        log_n: usize,
        log_message: usize,
        log_cells: u32,
        columns: usize,
        stride: usize,
        direction: NttDirection,
    ) -> Self {
        Self {
            log_n: log_n as u32,
            log_message: log_message as u32,
            log_cells,
            columns,
            stride: stride << log_cells,
            direction,
        }
    }

    /// Words of a column.
    fn words(&self) -> usize {
        1 << (self.log_n + self.log_cells)
    }

    fn scale(&self) -> u32 {
        match self.direction {
            NttDirection::Forward => 0,
            NttDirection::Inverse => roots::word(F::from_u64(1 << self.log_n).inverse()),
        }
    }
}

fn transform(
    s: &CommandStream,
    mut data: MetalSliceMut<'_, F>,
    batch: Batch,
) -> Result<(), MetalError> {
    if batch.log_n > 27 || batch.log_message > batch.log_n {
        return Err(unfit(
            "ntt_columns",
            "log_n",
            "at most 27",
            batch.log_n.to_string(),
        ));
    }
    if batch.log_message == 0 && batch.log_n > 8 {
        return Err(unfit("ntt_columns", "log_message", "at least 1", "0"));
    }
    if batch.columns == 0 {
        return Ok(());
    }
    let needed = (batch.columns - 1) * batch.stride + batch.words();
    if data.len() < needed || batch.stride < batch.words() {
        let actual = format!("{} words, stride {}", data.len(), batch.stride);
        return Err(unfit("ntt_columns", "data", "columns that fit", actual));
    }
    if batch.log_n == 0 {
        return Ok(());
    }
    let roots = roots::table(s, batch.direction)?;
    let passes = plan(batch.log_n, batch.log_message, batch.log_cells);
    let words = batch.words();
    let scratch_words = match s.context().info().kind {
        DeviceKind::Cpu => CPU_SCRATCH_WORDS,
        DeviceKind::Cuda | DeviceKind::Metal => SCRATCH_WORDS,
    };
    let at_once = (scratch_words / words).clamp(1, batch.columns);
    let scratch = |needed: bool| {
        MetalBuffer::<F>::uninit(s.context(), if needed { at_once * words } else { 1 })
    };
    let mut scratch = [scratch(true)?, scratch(passes.len() > 2)?];
    let mut done = 0;
    while done < batch.columns {
        let columns = at_once.min(batch.columns - done);
        let start = done * batch.stride;
        let end = start + (columns - 1) * batch.stride + words;
        let mut columns_of = data.slice_mut(start..end);
        run(
            s,
            &mut columns_of,
            &mut scratch,
            &roots,
            Batch { columns, ..batch },
            &passes,
        )?;
        done += columns;
    }
    Ok(())
}

/// All passes over one batch: from the columns into scratch, from scratch to scratch, and back.
fn run(
    s: &CommandStream,
    data: &mut MetalSliceMut<'_, F>,
    scratch: &mut [MetalBuffer<F>; 2],
    roots: &MetalBuffer<F>,
    batch: Batch,
    passes: &[Pass],
) -> Result<(), MetalError> {
    let [a, b] = scratch;
    let (near, far) = (batch.words(), batch.stride);
    for (i, pass) in passes.iter().enumerate() {
        let first = i == 0;
        let last = i + 1 == passes.len();
        // Scratch `a` holds the results of passes 0, 2, ..., scratch `b` those of passes 1, 3, ...
        let (from, to) = if i % 2 == 1 {
            (&mut *a, &mut *b)
        } else {
            (&mut *b, &mut *a)
        };
        match (first, last) {
            (true, true) => {
                launch(
                    s,
                    batch,
                    pass,
                    (data.as_slice(), far),
                    (to.as_slice_mut(), near),
                    roots,
                )?;
                copy_back(s, &to.as_slice(), data, batch)?;
            }
            (true, false) => {
                launch(
                    s,
                    batch,
                    pass,
                    (data.as_slice(), far),
                    (to.as_slice_mut(), near),
                    roots,
                )?;
            }
            (false, true) => {
                launch(
                    s,
                    batch,
                    pass,
                    (from.as_slice(), near),
                    (data.reborrow(), far),
                    roots,
                )?;
            }
            (false, false) => {
                launch(
                    s,
                    batch,
                    pass,
                    (from.as_slice(), near),
                    (to.as_slice_mut(), near),
                    roots,
                )?;
            }
        }
    }
    Ok(())
}

/// One pass; sources and targets come with the words between their columns.
fn launch(
    s: &CommandStream,
    batch: Batch,
    pass: &Pass,
    (from, src_stride): (MetalSlice<'_, F>, usize),
    (to, dst_stride): (MetalSliceMut<'_, F>, usize),
    roots: &MetalBuffer<F>,
) -> Result<(), MetalError> {
    let log_runs = LOG_TILE_WORDS - batch.log_cells;
    let columns = batch.columns as u32;
    let sets = (1u32 << (8 - pass.stages)).min(columns.div_ceil(1 << log_runs));
    let p = NttParams {
        src_stride: src_stride as u64,
        dst_stride: dst_stride as u64,
        log_n: batch.log_n,
        log_message: if pass.first == 0 {
            batch.log_message
        } else {
            batch.log_n
        },
        first: pass.first,
        stages: pass.stages,
        skipped: pass.skipped,
        radices: pass.radices(),
        log_cells: batch.log_cells,
        columns,
        scale: if pass.last { batch.scale() } else { 0 },
        sets,
    };
    let log_below = batch.log_n - pass.first - pass.stages + batch.log_cells;
    if !pass.last {
        let groups = columns << (pass.first + log_below - LOG_TILE_WORDS);
        kernels::ntt_columns(s, Grid::groups(groups, THREADS), from, to, roots, &p)
    } else if pass.first > 0 {
        let groups = columns << (pass.first - log_runs);
        kernels::ntt_chunks(s, Grid::groups(groups, THREADS), from, to, roots, &p)
    } else {
        let groups = columns.div_ceil(sets << log_runs);
        kernels::ntt_small(s, Grid::groups(groups, THREADS), from, to, roots, &p)
    }
}

/// Copies dense columns of small transforms to where they belong.
fn copy_back(
    s: &CommandStream,
    from: &MetalSlice<'_, F>,
    data: &mut MetalSliceMut<'_, F>,
    batch: Batch,
) -> Result<(), MetalError> {
    let words = batch.words();
    if batch.stride == words {
        return from
            .slice(..batch.columns * words)
            .copy_to(data.reborrow(), s);
    }
    for column in 0..batch.columns {
        let at = column * batch.stride;
        let target = data.slice_mut(at..at + words);
        from.slice(column * words..(column + 1) * words)
            .copy_to(target, s)?;
    }
    Ok(())
}
