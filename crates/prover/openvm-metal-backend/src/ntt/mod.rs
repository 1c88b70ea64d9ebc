//! Batched number-theoretic transforms, Reed-Solomon encoding and transposition.
//!
//! A transform of `2^n` elements is `n` stages, cut into passes of at most 8 stages; a pass keeps its
//! tile in threadgroup memory. All but the last pass work on rows that are far apart in memory, in
//! place; the last one works on neighbouring elements and undoes the bit reversal, for which the pass
//! before it writes to a second buffer. Devices with more threadgroup memory do most of the larger
//! transforms in two passes (`tall.rs`).

mod plan;
mod roots;
mod tall;
#[cfg(test)]
mod tests;
mod transpose;

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError, MetalSliceMut};
use p3_field::{Field, PrimeCharacteristicRing};

use self::plan::{plan, Pass};
pub use self::transpose::transpose;
pub(crate) use self::{
    roots::table,
    tall::{TallPlan, LOG_CHUNK},
};
use crate::{
    kernels,
    params::NttParams,
    prelude::{montgomery, EF, F},
};

/// Words of the scratch buffer of a batch of columns where there is no cache: half of all columns, but at
/// least 64 MiB and at most 512 MiB. With a cache a batch is as large as that, and stays in it from pass to
/// pass.
const SCRATCH_WORDS: usize = 1 << 24;
const MAX_SCRATCH_WORDS: usize = 1 << 27;
/// Words in a row of a tile, log2.
const LOG_TILE_WORDS: u32 = 4;
/// Most threads of a threadgroup.
const THREADS: u32 = 256;

/// Direction of a transform.
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
    codewords: MetalSliceMut<'_, F>,
    log_h: usize,
    log_blowup: usize,
    cols: usize,
) -> Result<(), MetalError> {
    let (log_n, dir) = (log_h + log_blowup, NttDirection::Forward);
    transform(
        s,
        codewords,
        Batch::new(log_n, log_h, 0, cols, 1 << log_n, dir),
    )
}

/// [`rs_encode`] with the caller's scratch memory: at least one column, better as many as there are
/// messages. Its contents are lost.
///
/// # Errors
/// As [`ntt_batch`].
pub fn rs_encode_with(
    s: &CommandStream,
    codewords: MetalSliceMut<'_, F>,
    scratch: MetalSliceMut<'_, F>,
    log_h: usize,
    log_blowup: usize,
    cols: usize,
) -> Result<(), MetalError> {
    let (log_n, dir) = (log_h + log_blowup, NttDirection::Forward);
    let batch = Batch::new(log_n, log_h, 0, cols, 1 << log_n, dir);
    transform_with(s, codewords, batch, Some(scratch))
}

/// The first passes of [`rs_encode`], in place, without the last, or without as many as it takes for runs of `2^log_least` elements; log2 of
/// the elements of a run. With `2^r` of them, run `j` of a column are the
/// coefficients of the message modulo `X^(2^r) - w^(2^r i)`, where the last `log_n - r` bits of `i`, reversed, are `j`
/// (`w` generates the `2^log_n`-th roots of unity). If the message is shorter than a run, what follows it there is nothing.
///
/// # Errors
/// As [`ntt_batch`].
pub(crate) fn rs_runs(
    s: &CommandStream,
    mut messages: MetalSliceMut<'_, F>,
    log_h: usize,
    log_blowup: usize,
    cols: usize,
    log_least: u32,
) -> Result<u32, MetalError> {
    let (log_n, dir) = (log_h + log_blowup, NttDirection::Forward);
    let batch = Batch::new(log_n, log_h, 0, cols, 1 << log_n, dir);
    batch.check(messages.len())?;
    let passes = plan(batch.log_n, batch.log_message, batch.log_cells);
    let long_enough = |pass: &&Pass| batch.log_n - pass.first - pass.stages >= log_least;
    let before = passes.iter().take_while(|pass| !pass.last);
    let before: Vec<&Pass> = before.take_while(long_enough).collect();
    let done = before.last().map_or(0, |pass| pass.first + pass.stages);
    let roots = &table(s, dir)?;
    let cache = s.context().device_profile().cache / 4;
    let at_once = match cache as usize / batch.words() {
        _ if cache == 0 => cols,
        columns => columns.clamp(1, cols.max(1)),
    };
    for start in (0..cols).step_by(at_once.max(1)) {
        let columns = at_once.min(cols - start);
        let words = start * batch.words()..(start + columns) * batch.words();
        let mut part = messages.slice_mut(words);
        for pass in &before {
            in_place(s, part.reborrow(), roots, Batch { columns, ..batch }, pass)?;
        }
    }
    Ok(batch.log_n - done)
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

    /// Refuses sizes that no transform has, and columns that are not within `len` words.
    fn check(&self, len: usize) -> Result<(), MetalError> {
        let refused = |argument, expected, actual: String| {
            let kernel = "ntt_columns";
            Err(MetalError::argument_mismatch(
                kernel, argument, expected, actual,
            ))
        };
        if self.log_n > 27 || self.log_message > self.log_n {
            return refused("log_n", "at most 27", self.log_n.to_string());
        }
        if self.log_message == 0 && self.log_n > 8 {
            return refused("log_message", "at least 1", "0".into());
        }
        if self.columns == 0 {
            return Ok(());
        }
        let needed = (self.columns - 1) * self.stride + self.words();
        if len < needed || self.stride < self.words() {
            let actual = format!("{len} words, stride {}", self.stride);
            return refused("data", "columns that fit", actual);
        }
        Ok(())
    }

    /// Words of a column.
    fn words(&self) -> usize {
        1 << (self.log_n + self.log_cells)
    }

    /// Columns in a row of a tile, log2.
    fn log_tile_columns(&self) -> u32 {
        LOG_TILE_WORDS - self.log_cells
    }

    /// Threadgroups of a pass over rows that are far apart.
    fn column_grid(&self, pass: &Pass) -> Grid {
        let log_below = self.log_n - pass.first - pass.stages + self.log_cells;
        let groups = (self.columns as u32) << (pass.first + log_below - LOG_TILE_WORDS);
        Grid::groups(groups, threads(pass))
    }

    /// Threadgroups of the last of several passes.
    fn chunk_grid(&self, pass: &Pass) -> Grid {
        let groups = (self.columns as u32) << (pass.first - self.log_tile_columns());
        Grid::groups(groups, threads(pass))
    }

    /// Parameters of a pass; the words between columns of source and destination.
    fn params(&self, pass: &Pass, src_stride: usize, dst_stride: usize) -> NttParams {
        let columns = self.columns as u32;
        NttParams {
            src_stride: src_stride as u64,
            dst_stride: dst_stride as u64,
            log_n: self.log_n,
            log_message: if pass.first == 0 {
                self.log_message
            } else {
                self.log_n
            },
            first: pass.first,
            stages: pass.stages,
            skipped: pass.skipped,
            radices: pass.radices(),
            log_cells: self.log_cells,
            columns,
            scale: if pass.last { self.scale() } else { 0 },
            sets: (1u32 << (8 - pass.stages)).min(columns.div_ceil(1 << self.log_tile_columns())),
        }
    }

    fn scale(&self) -> u32 {
        match self.direction {
            NttDirection::Forward => 0,
            NttDirection::Inverse => montgomery(F::from_u64(1 << self.log_n).inverse()),
        }
    }
}

fn transform(
    s: &CommandStream,
    data: MetalSliceMut<'_, F>,
    batch: Batch,
) -> Result<(), MetalError> {
    transform_with(s, data, batch, None)
}

fn transform_with(
    s: &CommandStream,
    mut data: MetalSliceMut<'_, F>,
    batch: Batch,
    scratch: Option<MetalSliceMut<'_, F>>,
) -> Result<(), MetalError> {
    batch.check(data.len())?;
    if batch.columns == 0 || batch.log_n == 0 {
        return Ok(());
    }
    let roots = &table(s, batch.direction)?;
    let passes = plan(batch.log_n, batch.log_message, batch.log_cells);
    let (&last, before) = passes.split_last().expect("a transform has a pass");
    let Some((&second, first)) = before.split_last() else {
        return small(s, data, roots, batch, &last);
    };
    let words = batch.words();
    let profile = s.context().device_profile();
    let cache = (profile.cache / 4) as usize;
    let wanted = match (&scratch, cache) {
        (Some(scratch), _) => scratch.len(),
        (None, 1..) => cache,
        (None, 0) => (batch.columns * words / 2).clamp(SCRATCH_WORDS, MAX_SCRATCH_WORDS),
    };
    let at_once = (wanted / words).clamp(1, batch.columns);
    let mut own = None;
    let mut scratch = match scratch {
        Some(scratch) if scratch.len() >= words => scratch,
        _ => own
            .insert(MetalBuffer::uninit(s.context(), at_once * words)?)
            .as_slice_mut(),
    };
    let tall = TallPlan::of(profile, batch.log_n, batch.log_message, batch.log_cells);
    if let Some(tall) = tall {
        return tall.transform(s, roots, data, scratch, batch);
    }
    if cache == 0 {
        // Passes in place have no use for a cache: all columns at once.
        for pass in first {
            in_place(s, data.reborrow(), roots, batch, pass)?;
        }
    }
    let mut done = 0;
    while done < batch.columns {
        let columns = at_once.min(batch.columns - done);
        let start = done * batch.stride;
        let end = start + (columns - 1) * batch.stride + words;
        let mut part = data.slice_mut(start..end);
        let batch = Batch { columns, ..batch };
        if cache > 0 {
            for pass in first {
                in_place(s, part.reborrow(), roots, batch, pass)?;
            }
        }
        // The last pass undoes the bit reversal, so it needs another place to read from.
        let p = batch.params(&second, batch.stride, words);
        let (from, to) = (part.as_slice(), scratch.reborrow());
        // SAFETY: the radices of a planned pass are 1 to 4 and make its stages with the skipped ones.
        unsafe { kernels::ntt_columns(s, batch.column_grid(&second), from, to, roots, &p)? };
        let p = batch.params(&last, words, batch.stride);
        let grid = batch.chunk_grid(&last);
        // SAFETY: as above.
        unsafe { kernels::ntt_chunks(s, grid, scratch.as_slice(), part, roots, &p)? };
        done += columns;
    }
    Ok(())
}

/// Threads of a threadgroup with one tile: 16 words for each.
fn threads(pass: &Pass) -> u32 {
    (1u32 << (pass.stages + LOG_TILE_WORDS - 4)).clamp(32, THREADS)
}

/// A pass over rows that are far apart, in place.
fn in_place(
    s: &CommandStream,
    data: MetalSliceMut<'_, F>,
    roots: &MetalBuffer<F>,
    batch: Batch,
    pass: &Pass,
) -> Result<(), MetalError> {
    let p = batch.params(pass, batch.stride, batch.stride);
    // SAFETY: the radices of a planned pass are 1 to 4 and make its stages with the skipped ones.
    unsafe { kernels::ntt_columns_in_place(s, batch.column_grid(pass), data, roots, &p) }
}

/// Whole transforms of at most 2^8 elements, in place.
fn small(
    s: &CommandStream,
    data: MetalSliceMut<'_, F>,
    roots: &MetalBuffer<F>,
    batch: Batch,
    pass: &Pass,
) -> Result<(), MetalError> {
    let p = batch.params(pass, batch.stride, batch.stride);
    let groups = p.columns.div_ceil(p.sets << batch.log_tile_columns());
    // SAFETY: the radices of a planned pass are 1 to 4 and make its stages with the skipped ones.
    unsafe { kernels::ntt_small(s, Grid::groups(groups, THREADS), data, roots, &p) }
}
