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

/// Threadgroup memory that the usual passes make do with.
const PLAIN_MEMORY: u32 = 32 << 10;
/// Words in a row of the first pass, log2: a chunk of cells with the usual skip domain.
const LOG_COLUMNS: u32 = 4;
/// Factors of a run in the last pass.
const RUN_FACTORS: u32 = 64;
/// Most threads of a threadgroup.
const MAX_THREADS: u32 = 1024;
/// Stages of a pass, at least and at most; tiles of the first pass are wider.
const LEAST: u32 = 8;
const MOST_COLUMNS: u32 = 11;
const MOST_RUNS: u32 = 12;

/// Words in a row of the last pass, log2: a sector of 32 bytes, and three such tiles of 2^11 rows fit into a multiprocessor.
const LOG_WORDS: u32 = 3;
/// Words of a thread. Passes over messages and runs read all of them before they wait for any.
const THREAD_WORDS: u32 = 32;

/// The two passes of columns of base-field elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TallPlan {
    log_n: u32,
    log_message: u32,
    /// Stages of each pass.
    stages: [u32; 2],
    /// Words in a row of the last pass, log2.
    log_words: u32,
}

impl TallPlan {
    /// The passes of transforms on this device, if they are fewer than the usual ones and their tiles fit. Devices
    /// with a cache take the usual ones, whose tiles stay in it.
    pub fn of(profile: &DeviceProfile, log_n: u32, log_message: u32) -> Option<Self> {
        let memory = profile.max_threadgroup_memory;
        if profile.cache > 0 || memory <= PLAIN_MEMORY || log_n <= 2 * MAX_STAGES {
            return None;
        }
        Self::within(memory, log_n, log_message, LOG_WORDS)
    }

    /// The passes with tiles of at most so much memory.
    fn within(memory: u32, log_n: u32, log_message: u32, log_words: u32) -> Option<Self> {
        let first = log_message / 2;
        let last = log_message - first;
        let copies = log_n.checked_sub(log_message)?;
        let log_words = if last == MOST_RUNS { 3 } else { log_words };
        let plan = Self {
            log_n,
            log_message,
            stages: [first, last],
            log_words,
        };
        // The factors of the first pass are read from the first half of the table of roots, 2^13.
        let fits = (LEAST..=MOST_COLUMNS).contains(&first)
            && (LEAST..=MOST_RUNS).contains(&last)
            && copies + first <= 14
            && log_n <= 27;
        (fits && 4 * plan.tile(0).max(plan.tile(1)) <= memory).then_some(plan)
    }

    /// Passes for checks, whatever the device is, with rows of 8 or 16 words in the last one.
    pub fn for_checks(
        profile: &DeviceProfile,
        log_n: u32,
        log_message: u32,
        words: u32,
    ) -> Option<Self> {
        let memory = profile.max_threadgroup_memory;
        Self::within(memory, log_n, log_message, words.ilog2())
    }

    /// Words of a column.
    pub fn words(&self) -> usize {
        1 << self.log_n
    }

    /// log2 of the words of a run of the last pass.
    pub fn log_run(&self) -> u32 {
        self.stages[1]
    }

    /// How many of `columns` columns are done at once with `scratch` words.
    pub fn at_once(&self, scratch: usize, columns: usize) -> usize {
        (scratch / self.words()).clamp(1, columns.max(1))
    }

    /// Words of a row of a pass, log2.
    fn log_row(&self, pass: usize) -> u32 {
        [LOG_COLUMNS, self.log_words][pass]
    }

    /// Words of threadgroup memory of a pass: the tile and its factors.
    fn tile(&self, pass: usize) -> ThreadgroupLen {
        let (stages, log_row) = (self.stages[pass], self.log_row(pass));
        let factors = match pass {
            0 => 1 << stages,
            _ => (1 << (stages - 1)) + (RUN_FACTORS << log_row),
        };
        (1 << (stages + log_row)) + factors
    }

    /// Threadgroups of a pass, of as many threads as the kernel may have.
    fn grid(
        &self,
        s: &CommandStream,
        pass: usize,
        kernel: &str,
        columns: usize,
    ) -> Result<Grid, MetalError> {
        let log_tile = self.stages[pass] + self.log_row(pass);
        let most = match spec(kernel) {
            Some(kernel) => s.context().kernel_limits(kernel)?.threads,
            None => MAX_THREADS,
        };
        let profile = s.context().device_profile();
        let most = most.min(profile.max_threads_per_threadgroup).max(1);
        let wanted = (1u32 << log_tile) / THREAD_WORDS;
        let threads = wanted.min(1 << most.ilog2());
        Ok(Grid::groups(
            (columns as u32) << (self.log_n - log_tile),
            threads,
        ))
    }

    /// Parameters of a pass; the words between columns of source and destination.
    fn params(&self, pass: usize, src_stride: usize, dst_stride: usize) -> NttTallParams {
        NttTallParams {
            src_stride: src_stride as u64,
            dst_stride: dst_stride as u64,
            log_n: self.log_n,
            log_message: self.log_message,
            stages: self.stages[pass],
            log_words: self.log_words,
            ..NttTallParams::default()
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
        let (grid, tile) = (self.grid(s, 0, "ntt_tall_columns", columns)?, self.tile(0));
        // SAFETY: a tile of the first pass has 2^stages rows of 16 words, and 2^stages factors beside it.
        unsafe { kernels::ntt_tall_columns(s, grid, from, scratch, roots, &p, tile) }
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
        let p = self.params(0, 1 << self.log_message, self.words());
        let kernel = "commit_encode_columns";
        let (grid, tile) = (self.grid(s, 0, kernel, columns)?, self.tile(0));
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
        let (grid, tile) = (self.grid(s, 1, "ntt_tall_runs", columns)?, self.tile(1));
        // SAFETY: a tile of the last pass has 2^stages rows of 2^log_words words, and beside it 2^(stages - 1) factors and 64 for
        // each word of a row.
        unsafe { kernels::ntt_tall_runs(s, grid, scratch, to, roots, &p, tile) }
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
        TallPlan::of(&profile, log_n, log_message)
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
        for log_n in 0..=27 {
            for log_message in 0..=log_n {
                let Some(plan) = TallPlan::of(&profile, log_n, log_message) else {
                    let usual = log_n <= 2 * MAX_STAGES || !(16..=23).contains(&log_message);
                    assert!(usual || log_n - log_message > 3, "{log_n}, {log_message}");
                    continue;
                };
                assert_eq!(plan.stages.iter().sum::<u32>(), log_message);
                for pass in 0..2 {
                    assert!(4 * plan.tile(pass) <= profile.max_threadgroup_memory);
                }
            }
        }
        // Three tiles of each pass fit into a multiprocessor.
        let plan = plan("h100-80gb", 22, 21).expect("two passes");
        assert_eq!(plan.stages, [10, 11]);
        assert!((0..2).all(|pass| 3 * (4 * plan.tile(pass) + 1024) <= 228 << 10));
    }
}
