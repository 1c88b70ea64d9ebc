//! `Cut`: decides where segments end.

use openvm_stark_backend::memory_metering::{ProvingMemoryConfig, ProvingMemoryCounts};

use super::rows::Rows;

/// Instructions between two checks of the limits, about.
pub(crate) const CHECK_INSTRUCTIONS: u64 = 1024;

/// Bound on the rows that a trace gains between two checks, except traces of memory and of deferred outputs: a row for each step, as many of
/// executors, and one instruction of 1023 words of hints.
const ROWS_OF_CHECK: u32 = 2 * CHECK_INSTRUCTIONS as u32 + 1024;

/// Parts of the estimate that one trace has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AirShape {
    /// Columns of all its traces.
    pub width: usize,
    pub interactions: usize,
    /// The AIR reads the next row too.
    pub needs_next_row: bool,
    /// Intermediate values of the constraints, for each row.
    pub constraint_values: usize,
    /// Every segment has as many rows.
    pub has_fixed_height: bool,
}

/// Limits of a segment, by OpenVM's estimate of the memory that its proof needs.
#[derive(Clone, Debug)]
pub(crate) struct SegmentLimits {
    pub airs: Vec<AirShape>,
    /// Most rows of a trace.
    pub height: u32,
    /// Most bytes of a proof.
    pub memory: usize,
    /// Most interactions of all rows.
    pub interactions: u64,
    pub config: ProvingMemoryConfig,
}

impl SegmentLimits {
    /// Bytes that a segment of these heights is estimated to need; nothing if it may not have them. Traces are padded to powers of two.
    fn allow(&self, heights: &[u32]) -> Option<usize> {
        let mut counts = ProvingMemoryCounts::default();
        let mut interactions = 0;
        for (air, &height) in self.airs.iter().zip(heights) {
            let rows = padded(height) as usize;
            if !air.has_fixed_height && rows > self.height as usize {
                return None;
            }
            let cells = rows * air.width;
            match air.needs_next_row {
                true => counts.main_cells_with_rot += cells,
                false => counts.main_cells_without_rot += cells,
            }
            counts.interaction_cells += rows * air.interactions;
            counts.constraint_eval_cells += rows * air.constraint_values;
            if rows > 0 {
                interactions += (rows as u64 + 1) * air.interactions as u64;
            }
        }
        let memory = self.config.estimate(counts).total;
        (interactions <= self.interactions && memory <= self.memory).then_some(memory)
    }
}

/// Ends a segment if the rows that are expected before the next check would pass a limit. The expectation follows earlier checks, so the first burst
/// of an execution may pass the limits of memory.
pub(crate) struct Cut {
    limits: SegmentLimits,
    /// Heights at this check and at the last one.
    heights: Vec<u32>,
    last: Vec<u32>,
    /// Most rows that were added between two checks of this segment, and of the one before.
    most: Vec<u32>,
    most_before: Vec<u32>,
    /// Heights that are expected at the next check, and those up to which the estimate allowed them.
    expected: Vec<u32>,
    allowed: Vec<u32>,
    /// Heights from which a trace might become too high before the next check.
    high: Vec<u32>,
    /// Most memory that was allowed.
    most_memory: usize,
}

impl Cut {
    pub fn new(limits: SegmentLimits) -> Self {
        let zeros = vec![0; limits.airs.len()];
        let high = limits.airs.iter().map(|air| match air.has_fixed_height {
            true => u32::MAX,
            false => limits.height.saturating_sub(ROWS_OF_CHECK),
        });
        Self {
            high: high.collect(),
            limits,
            heights: zeros.clone(),
            last: zeros.clone(),
            most: zeros.clone(),
            most_before: zeros.clone(),
            expected: zeros.clone(),
            allowed: zeros,
            most_memory: 0,
        }
    }

    /// True if the segment with these rows should end here: the next check may be too late.
    pub fn is_due(&mut self, rows: &Rows) -> bool {
        rows.write_heights(&mut self.heights);
        let (mut is_allowed, mut is_high) = (true, false);
        for (air, &height) in self.heights.iter().enumerate() {
            let added = height - self.last[air];
            self.most[air] = self.most[air].max(added);
            self.expected[air] = match height {
                0 => 0,
                _ => {
                    let most = self.most[air].max(self.most_before[air]);
                    height.saturating_add(most.max(2 * added))
                }
            };
            is_allowed &= self.expected[air] <= self.allowed[air];
            is_high |= height > self.high[air];
        }
        self.last.copy_from_slice(&self.heights);
        is_high || !is_allowed && !self.allow()
    }

    /// [`is_due`](Self::is_due) for the same rows, when it was true and the bound on memory has changed.
    pub fn is_still_due(&mut self) -> bool {
        let mut heights = self.heights.iter().zip(&self.high);
        heights.any(|(height, high)| height > high) || !self.allow()
    }

    /// True if the limits allow the expected heights.
    fn allow(&mut self) -> bool {
        let Some(memory) = self.limits.allow(&self.expected) else {
            return false;
        };
        self.most_memory = self.most_memory.max(memory);
        // Up to here the estimate is the same.
        for (allowed, &expected) in self.allowed.iter_mut().zip(&self.expected) {
            *allowed = padded(expected);
        }
        true
    }

    /// Sets the bound on the memory of a proof. False if more was allowed before: with this bound a segment had ended earlier.
    pub fn bound_memory(&mut self, bytes: usize) -> bool {
        self.limits.memory = bytes;
        self.most_memory <= bytes
    }

    pub fn airs(&self) -> &[AirShape] {
        &self.limits.airs
    }

    /// The heights at the last check.
    pub fn heights(&self) -> &[u32] {
        &self.heights
    }

    /// Begins a segment with these rows.
    pub fn begin(&mut self, rows: &Rows) {
        rows.write_heights(&mut self.last);
        self.allowed.fill(0);
        std::mem::swap(&mut self.most, &mut self.most_before);
        self.most.fill(0);
    }
}

/// The height of a padded trace.
fn padded(height: u32) -> u32 {
    match height {
        0 => 0,
        height => height.next_power_of_two(),
    }
}

#[cfg(test)]
mod tests {
    use openvm_circuit::arch::MemoryConfig;

    use super::*;

    /// The AIR of the tests: behind those of the system.
    const AIR: usize = 4;

    /// Limits of one trace by its height, and by the memory of so many rows of it.
    fn cut(height: u32, rows: usize) -> (Rows, Cut) {
        let shape = |width| AirShape {
            width,
            interactions: 1,
            needs_next_row: false,
            constraint_values: 0,
            has_fixed_height: false,
        };
        let airs: Vec<AirShape> = (0..7)
            .map(|air| shape(if air == AIR { 3000 } else { 1 }))
            .collect();
        let config = ProvingMemoryConfig {
            base_field_size: 4,
            extension_degree: 4,
            digest_size: 32,
            log_blowup: 1,
            l_skip: 4,
            log_stacked_height: 20,
            k_whir: 4,
            max_constraint_degree: 3,
            cache_stacked_matrix: false,
            cache_rs_code_matrix: true,
            zerocheck_save_memory: true,
        };
        // With room for the rows of registers.
        let (cells, interactions) = (3000 * rows + (1 << 14), rows + (1 << 14));
        let memory = config.estimate(ProvingMemoryCounts::new(0, cells, interactions, 0));
        let rows = Rows::new(vec![0; airs.len()], &MemoryConfig::default());
        let mut cut = Cut::new(SegmentLimits {
            airs,
            height,
            memory: memory.total,
            interactions: 1 << 31,
            config,
        });
        cut.begin(&rows);
        (rows, cut)
    }

    /// Checks after so many more rows each.
    fn due_at(
        rows: &mut Rows,
        cut: &mut Cut,
        added: impl IntoIterator<Item = u32>,
    ) -> Option<usize> {
        added.into_iter().position(|added| {
            rows.add(AIR, added);
            cut.is_due(rows)
        })
    }

    #[test]
    fn a_segment_ends_before_its_padding_doubles() {
        for step in [1, 7, 300, 900] {
            let (mut rows, mut cut) = cut(1 << 22, 1 << 17);
            let checks = due_at(&mut rows, &mut cut, std::iter::repeat_n(step, 1 << 18));
            assert!(checks.is_some());
            let height = cut.heights()[AIR];
            assert!(height <= 1 << 17 && height + 3 * step > 1 << 17, "{height}");
            // The next one begins with nothing.
            rows.restart();
            cut.begin(&rows);
            assert!(!cut.is_due(&rows));
        }
    }

    /// A segment ends before a burst as large as an earlier one would pass the limit, in the segment of that burst and in the next one.
    #[test]
    fn a_burst_after_few_rows_does_not_pass_the_limit() {
        let (mut rows, mut cut) = cut(1 << 22, 1 << 17);
        for _ in 0..2 {
            let bursts = [900].into_iter().chain(std::iter::repeat_n(100, 1290));
            assert_eq!(due_at(&mut rows, &mut cut, bursts), None);
            let added = [100, 100, 100, 900];
            let due = due_at(&mut rows, &mut cut, added);
            assert!(due.is_some_and(|check| check < 3), "{due:?}");
            rows.restart();
            cut.begin(&rows);
        }
        let steady = std::iter::repeat_n(100, 1299);
        assert_eq!(due_at(&mut rows, &mut cut, steady), None);
        let due = due_at(&mut rows, &mut cut, [100, 100, 100, 900]);
        assert!(due.is_some_and(|check| check < 3), "{due:?}");
    }

    /// Few rows at a time, and then the most that one instruction adds.
    #[test]
    fn no_trace_becomes_too_high() {
        let (mut rows, mut cut) = cut(1 << 15, 1 << 20);
        let added = std::iter::repeat_n(3, 1 << 14);
        assert!(due_at(&mut rows, &mut cut, added).is_some());
        assert!(cut.heights()[AIR] + 1023 <= 1 << 15);
    }
}
