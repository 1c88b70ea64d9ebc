//! Transforms in two passes over memory, where a threadgroup has memory for tiles of up to 2^12 rows.
//!
//! Stages that meet only zeros make copies of the message. The first pass leaves them out: a tile of a copy reads the
//! message and does the stages that follow, so its tiles have fewer rows than the codeword has stages.

use openvm_metal_common::{
    kernel::KernelSpec, CommandStream, DeviceProfile, Grid, MetalBuffer, MetalError, MetalSlice,
    MetalSliceMut, ThreadgroupLen,
};

use super::{plan::MAX_STAGES, Batch};
use crate::{kernels, params::NttTallParams, prelude::F};

/// Threadgroup memory that the usual passes make do with. Devices with no more of it leave the units of these kernels out (`build.rs`).
const PLAIN_MEMORY: u32 = 32 << 10;
/// Words in a row of the first pass on words, log2, of tiles of fewer than 2^11 rows: a cache line.
const LOG_COLUMNS: u32 = 4;
/// Words in a row of cells, log2: a chunk, with the usual skip domain. The kernel takes no other.
pub(crate) const LOG_CHUNK: u32 = 4;
/// Words of the factors of a run in the last pass.
const RUN_WORDS: u32 = 72;
/// Most threads of a threadgroup.
const MAX_THREADS: u32 = 1024;
/// Stages of a pass, at least and at most; tiles on cells are wider.
const LEAST: u32 = 8;
const MOST_COLUMNS: u32 = 11;
const MOST_RUNS: u32 = 12;

/// Words in a row of the last pass, and of the first one with 2^11 rows, log2: a sector of 32 bytes, and several tiles of 2^11 rows fit into
/// a multiprocessor.
const LOG_WORDS: u32 = 3;
/// Words of a thread. Passes over runs and messages read all of them before they wait for any, but for large tiles with rows of 16 words.
const THREAD_WORDS: u32 = 32;
/// The same of large tiles over messages with rows of 16 words: three threadgroups fit into a multiprocessor, not two.
const WIDE_THREAD_WORDS: u32 = 64;
/// The same of small tiles over runs (`TALL_SMALL_THREAD_WORDS` in `tall.h`).
const SMALL_THREAD_WORDS: u32 = 16;
/// Most stages of a small tile (`TALL_SMALL`). So many of them fit into a multiprocessor that registers bound its threads, not the memory of the tiles.
const SMALL_STAGES: u32 = 9;
/// log2 of the words of all rows of a small tile over messages of extension elements (`tall_ext.h`): rows of 128 bytes if there are 2^8, of 64 if there are 2^9.
const LOG_SMALL_COLUMNS: u32 = 13;

/// The two passes of columns of elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TallPlan {
    log_n: u32,
    log_message: u32,
    /// log2 of the words of an element: 0, or 2 of the extension field.
    log_cells: u32,
    /// Stages of each pass.
    stages: [u32; 2],
    /// Words in a row of each pass, log2.
    log_words: [u32; 2],
    /// Most threads of a threadgroup.
    threads: u32,
}

impl TallPlan {
    /// The passes of transforms on this device, if they are fewer than the usual ones and their tiles fit. Devices
    /// with a cache take the usual ones, whose tiles stay in it.
    pub fn of(
        profile: &DeviceProfile,
        log_n: u32,
        log_message: u32,
        log_cells: u32,
    ) -> Option<Self> {
        if profile.cache > 0 || log_n <= 2 * MAX_STAGES {
            return None;
        }
        Self::for_checks(profile, log_n, log_message, log_cells)
    }

    /// The passes, whether they pay or not, if the device has their kernels and their tiles fit.
    pub fn for_checks(
        profile: &DeviceProfile,
        log_n: u32,
        log_message: u32,
        log_cells: u32,
    ) -> Option<Self> {
        if profile.max_threadgroup_memory <= PLAIN_MEMORY {
            return None;
        }
        let first = first_stages(log_message);
        let last = log_message - first;
        let copies = log_n.checked_sub(log_message)?;
        let log_columns = match first {
            ..=SMALL_STAGES if log_cells > 0 => LOG_SMALL_COLUMNS - first,
            MOST_COLUMNS => LOG_WORDS,
            _ => LOG_COLUMNS,
        };
        let plan = Self {
            log_n,
            log_message,
            log_cells,
            stages: [first, last],
            log_words: [log_columns, LOG_WORDS],
            threads: MAX_THREADS,
        };
        // The factors of the first pass are read from the first half of the table of roots, 2^13.
        let fits = (LEAST..=MOST_COLUMNS).contains(&first)
            && (LEAST..=MOST_RUNS).contains(&last)
            && copies + first <= 14
            && log_n + log_cells <= 27;
        let cells = match log_cells {
            0 => plan.cells_tile(),
            _ => 0,
        };
        let tile = cells.max(plan.tile(0)).max(plan.tile(1));
        (fits && 4 * tile <= profile.max_threadgroup_memory).then_some(plan)
    }

    /// The same passes with fewer threads, for checks.
    pub fn with_threads(self, threads: u32) -> Self {
        Self { threads, ..self }
    }

    /// Words of a column.
    pub fn words(&self) -> usize {
        1 << (self.log_n + self.log_cells)
    }

    /// log2 of the words of a run of the last pass.
    pub fn log_run(&self) -> u32 {
        self.stages[1]
    }

    /// Number of the `columns` columns that are transformed at once with `scratch` words.
    pub fn at_once(&self, scratch: usize, columns: usize) -> usize {
        (scratch / self.words()).clamp(1, columns.max(1))
    }

    /// True if threads of a pass read and write whole extension elements.
    fn of_elements(&self, pass: usize) -> bool {
        self.log_cells > 0 && self.stages[pass] <= SMALL_STAGES
    }

    /// Words of threadgroup memory of a pass: the tile and its factors, two words each.
    fn tile(&self, pass: usize) -> ThreadgroupLen {
        let (stages, log_row) = (self.stages[pass], self.log_words[pass]);
        let factors = match pass {
            0 => 2 << stages,
            _ => (1 << stages) + (RUN_WORDS << (log_row - self.log_cells)),
        };
        // A row is left out after each eight of less than 128 bytes.
        let left_out = match self.of_elements(pass) && log_row < 5 {
            true => (1 << (stages + log_row)) >> 3,
            false => 0,
        };
        (1 << (stages + log_row)) + left_out + factors
    }

    /// The same of the first pass on cells.
    fn cells_tile(&self) -> ThreadgroupLen {
        (1 << (self.stages[0] + LOG_CHUNK)) + (2 << self.stages[0])
    }

    /// Threadgroups for tiles of `2^log_tile` of `words` words, of as many threads as the kernel may have, with `thread_words` words each.
    fn grid(
        &self,
        s: &CommandStream,
        kernel: &str,
        log_tile: u32,
        words: usize,
        thread_words: u32,
    ) -> Result<Grid, MetalError> {
        let most = match spec(kernel) {
            Some(kernel) => s.context().kernel_limits(kernel)?.threads,
            None => MAX_THREADS,
        };
        let profile = s.context().device_profile();
        let most = most.min(profile.max_threads_per_threadgroup);
        let most = most.min(self.threads).max(1);
        let wanted = (1u32 << log_tile) / thread_words;
        let threads = wanted.min(1 << most.ilog2());
        Ok(Grid::groups((words >> log_tile) as u32, threads))
    }

    /// Parameters of a pass; the words between columns of source and destination. The first pass on words counts them where others count
    /// elements: it leaves the lowest bits of a word's number alone.
    fn params(&self, pass: usize, src_stride: usize, dst_stride: usize) -> NttTallParams {
        let of_elements = self.of_elements(pass);
        let log_cells = match pass == 0 && !of_elements {
            true => self.log_cells,
            false => 0,
        };
        let log_element = if of_elements { self.log_cells } else { 0 };
        NttTallParams {
            src_stride: src_stride as u64,
            dst_stride: dst_stride as u64,
            log_n: self.log_n + log_cells,
            log_message: self.log_message + log_cells,
            stages: self.stages[pass],
            log_words: self.log_words[pass] - log_element,
            scale: 0,
            log_cells: self.log_cells - log_cells,
        }
    }

    /// The first pass: messages, `stride` words apart, to the scratch memory, a column after the other.
    pub fn columns(
        &self,
        s: &CommandStream,
        roots: &MetalBuffer<F>,
        from: MetalSlice<'_, F>,
        scratch: MetalSliceMut<'_, F>,
        columns: usize,
        stride: usize,
    ) -> Result<(), MetalError> {
        let p = self.params(0, stride, self.words());
        let (log_tile, tile) = (self.stages[0] + self.log_words[0], self.tile(0));
        let thread_words = match self.log_words[0] {
            LOG_COLUMNS if self.stages[0] > SMALL_STAGES => WIDE_THREAD_WORDS,
            _ => THREAD_WORDS,
        };
        let (words, of_elements) = (columns * self.words(), self.of_elements(0));
        let kernel = match of_elements {
            true => "ntt_tall_columns_ext_small",
            false => "ntt_tall_columns",
        };
        let grid = self.grid(s, kernel, log_tile, words, thread_words)?;
        // SAFETY: a tile of the first pass has 2^stages rows of 2^log_words words, and 2^stages factors of two words
        // beside it; whole elements have 2^8 rows of 32 words, or 2^9 and 2^6 more of 16. Columns of elements begin at a multiple of 16 bytes.
        unsafe {
            match of_elements {
                true => {
                    kernels::ntt_tall_columns_ext_small(s, grid, from, scratch, roots, &p, tile)
                }
                false => kernels::ntt_tall_columns(s, grid, from, scratch, roots, &p, tile),
            }
        }
    }

    /// The first pass from cells of a range: columns of `2^log_message` cells one after the other. Its results are 16 times those of the
    /// messages, by which the last pass divides.
    pub fn encode(
        &self,
        s: &CommandStream,
        roots: &MetalBuffer<F>,
        range: MetalSlice<'_, F>,
        scratch: MetalSliceMut<'_, F>,
        columns: usize,
    ) -> Result<(), MetalError> {
        debug_assert_eq!(self.log_cells, 0, "cells are of the base field");
        let p = NttTallParams {
            log_words: LOG_CHUNK,
            ..self.params(0, 1 << self.log_message, self.words())
        };
        let (log_tile, tile) = (self.stages[0] + LOG_CHUNK, self.cells_tile());
        let (kernel, words) = ("commit_encode_columns", columns * self.words());
        let grid = self.grid(s, kernel, log_tile, words, THREAD_WORDS)?;
        // SAFETY: the tile as in `columns`; the caller's range begins at a multiple of 16 bytes.
        unsafe { kernels::commit_encode_columns(s, grid, range, scratch, roots, &p, tile) }
    }

    /// The last pass: the scratch memory to columns that are `stride` words apart.
    #[allow(clippy::too_many_arguments)]
    pub fn runs(
        &self,
        s: &CommandStream,
        roots: &MetalBuffer<F>,
        scratch: MetalSlice<'_, F>,
        to: MetalSliceMut<'_, F>,
        columns: usize,
        stride: usize,
        scale: u32,
    ) -> Result<(), MetalError> {
        let p = NttTallParams {
            scale,
            ..self.params(1, self.words(), stride)
        };
        let (log_tile, tile) = (self.stages[1] + self.log_words[1], self.tile(1));
        let (words, of_elements) = (columns * self.words(), self.of_elements(1));
        let kernel = match (self.log_cells, of_elements) {
            (0, _) => "ntt_tall_runs",
            (_, false) => "ntt_tall_runs_ext",
            (_, true) => "ntt_tall_runs_ext_small",
        };
        let thread_words = match self.stages[1] > SMALL_STAGES || of_elements {
            true => THREAD_WORDS,
            false => SMALL_THREAD_WORDS,
        };
        let grid = self.grid(s, kernel, log_tile, words, thread_words)?;
        // SAFETY: a tile of the last pass has 2^stages rows of 8 words, and beside it 2^(stages - 1) factors of two words and 72 words for
        // each of its 8 runs, or 2 of extension elements; whole elements (8 or 9 stages) have an eighth more rows. Columns of elements begin at a multiple of 16 bytes.
        unsafe {
            match (self.log_cells, of_elements) {
                (0, _) => kernels::ntt_tall_runs(s, grid, scratch, to, roots, &p, tile),
                (_, false) => kernels::ntt_tall_runs_ext(s, grid, scratch, to, roots, &p, tile),
                (_, true) => {
                    kernels::ntt_tall_runs_ext_small(s, grid, scratch, to, roots, &p, tile)
                }
            }
        }
    }

    /// A batch of columns, as many at once as the scratch memory holds.
    pub(super) fn transform(
        &self,
        s: &CommandStream,
        roots: &MetalBuffer<F>,
        mut data: MetalSliceMut<'_, F>,
        mut scratch: MetalSliceMut<'_, F>,
        batch: Batch,
    ) -> Result<(), MetalError> {
        let at_once = self.at_once(scratch.len(), batch.columns);
        let mut done = 0;
        while done < batch.columns {
            let columns = at_once.min(batch.columns - done);
            let start = done * batch.stride;
            let end = start + (columns - 1) * batch.stride + self.words();
            let mut part = data.slice_mut(start..end);
            let (from, stride) = (part.as_slice(), batch.stride);
            self.columns(s, roots, from, scratch.reborrow(), columns, stride)?;
            let (from, to) = (scratch.as_slice(), part.reborrow());
            self.runs(s, roots, from, to, columns, stride, batch.scale())?;
            done += columns;
        }
        Ok(())
    }
}

/// Stages of the first pass.
fn first_stages(log_message: u32) -> u32 {
    log_message / 2
}

/// A kernel of the prover by name.
fn spec(name: &str) -> Option<&'static KernelSpec> {
    let units = kernels::LIBRARY.units.iter();
    units
        .flat_map(|unit| unit.kernels)
        .find(|kernel| kernel.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(name: &str, log_n: u32, log_message: u32) -> Option<TallPlan> {
        let profile = DeviceProfile::named(name).expect("a profile");
        TallPlan::of(&profile, log_n, log_message, 0)
    }

    #[test]
    fn only_devices_with_much_threadgroup_memory_and_no_cache_have_tall_tiles() {
        for name in DeviceProfile::names() {
            let tall = plan(name, 22, 21);
            assert_eq!(tall.is_some(), name == "h100-80gb", "{name}: {tall:?}");
        }
    }

    #[test]
    fn two_passes_cover_all_stages_within_the_memory() {
        let profile = DeviceProfile::named("h100-80gb").expect("a profile");
        let sizes = (0..=27).flat_map(|n| (0..=n).map(move |message| (n, message)));
        for ((log_n, log_message), log_cells) in sizes.flat_map(|s| [(s, 0), (s, 2)]) {
            let Some(plan) = TallPlan::of(&profile, log_n, log_message, log_cells) else {
                let usual = log_n <= 2 * MAX_STAGES || !(16..=23).contains(&log_message);
                let large = log_n - log_message > 3 || log_n + log_cells > 27;
                assert!(usual || large, "{log_n}, {log_message}, {log_cells}");
                continue;
            };
            assert_eq!(plan.stages.iter().sum::<u32>(), log_message);
            for pass in 0..2 {
                assert!(4 * plan.tile(pass) <= profile.max_threadgroup_memory);
            }
        }
        // Three tiles of cells fit into a multiprocessor, and two of each pass of the largest transforms.
        let fit = |tiles: u32, tile: u32| tiles * (4 * tile + 1024) <= 228 << 10;
        let codewords = plan("h100-80gb", 22, 21).expect("two passes");
        assert_eq!(codewords.stages, [10, 11]);
        assert!(fit(3, codewords.cells_tile()) && fit(3, codewords.tile(1)));
        let whole = plan("h100-80gb", 22, 22).expect("two passes");
        assert!((0..2).all(|pass| fit(2, whole.tile(pass))));
    }
}
