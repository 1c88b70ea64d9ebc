//! `SegmentMemory`: bounds on the memory of the proofs of segments, by which executions are cut.

use std::{
    sync::mpsc::{Receiver, TryRecvError},
    time::{Duration, Instant},
};

use openvm_circuit::arch::execution_mode::metered::segment_ctx::DEFAULT_MAX_MEMORY;

use super::{circuit::AppCircuit, AppKey};
use crate::{engine::SdkEngine, error::SdkError};

/// Bound of the first segment if others have more than OpenVM's default.
const FIRST: usize = 7 << 29;

/// Most bytes of the memory of a segment's proof. The bound that fits the devices may become known while they are opened.
pub(super) struct SegmentMemory {
    most: usize,
    later: Option<Receiver<usize>>,
    /// Time for which the bound was waited for.
    pub waited: Duration,
}

impl SegmentMemory {
    /// The bound of a key, whose devices are known.
    pub fn of<E: SdkEngine>(key: &AppKey<E>) -> Self {
        Self::known(key.config.system.config.segmentation_max_memory)
    }

    pub fn known(most: usize) -> Self {
        Self {
            most,
            later: None,
            waited: Duration::ZERO,
        }
    }

    /// A bound that will be received. Until then the first segment has the lowest bound of a device with room for OpenVM's default.
    pub fn later<E: SdkEngine>(circuit: &AppCircuit<E>, later: Receiver<usize>) -> Self {
        Self {
            most: circuit.system().segmentation_max_memory.min(FIRST),
            later: Some(later),
            waited: Duration::ZERO,
        }
    }

    /// True unless the bound will be received.
    pub fn is_known(&self) -> bool {
        self.later.is_none()
    }

    /// Bound of a segment by its index. Where segments are large the first two are small: a device has nothing to prove until the first one is
    /// recorded and its traces are made.
    pub fn of_segment(&self, index: usize) -> usize {
        match index {
            0 | 1 if self.most > DEFAULT_MAX_MEMORY => FIRST << index,
            _ => self.most,
        }
    }

    /// Receives the bound when it has become known; waits for it if `must_wait`. True once.
    ///
    /// # Errors
    /// [`SdkError::Cancelled`] if it will never be known.
    pub fn learn(&mut self, must_wait: bool) -> Result<bool, SdkError> {
        let Some(later) = &self.later else {
            return Ok(false);
        };
        let clock = Instant::now();
        self.most = match must_wait {
            true => later.recv().map_err(|_| SdkError::Cancelled)?,
            false => match later.try_recv() {
                Ok(bound) => bound,
                Err(TryRecvError::Empty) => return Ok(false),
                Err(TryRecvError::Disconnected) => return Err(SdkError::Cancelled),
            },
        };
        self.waited += clock.elapsed();
        self.later = None;
        Ok(true)
    }
}

/// Step, in bytes, of the free device memory that segments are cut for: a little more or less, as between two
/// starts, gives the same segments, proofs and job.
const STEP: usize = 256 << 20;

/// `bytes`, rounded down to steps if there is one.
fn whole_steps(bytes: usize) -> usize {
    match bytes / STEP {
        0 => bytes,
        steps => steps * STEP,
    }
}

/// Bound on the memory of a segment's proof on so many devices, each of at least `budget` bytes: OpenVM's default, or half of the budget if that is
/// less, since traces of further segments are there too. GPUs with memory `of_its_own` prove large segments in less time: there it is
/// 3/16 of the budget, divided by the number of devices, if that is more. Two proofs and the traces of further segments leave a part of the
/// budget free then: pieces of different sizes do not fill the memory.
pub(super) fn bound(budget: usize, of_its_own: bool, devices: usize) -> usize {
    let of_gpu = match of_its_own {
        true => budget / 16 * 3 / devices.max(1),
        false => 0,
    };
    let bound = DEFAULT_MAX_MEMORY.max(of_gpu).min(budget / 2);
    whole_steps(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: usize = 1 << 30;

    #[test]
    fn a_little_more_memory_cuts_the_same_segments() {
        assert_eq!(whole_steps(5 * STEP + 12_345), whole_steps(5 * STEP));
        assert_eq!(whole_steps(STEP), STEP);
        assert_eq!(whole_steps(STEP - 1), STEP - 1);
    }

    #[test]
    fn segments_are_larger_where_a_gpu_has_memory_for_them() {
        let bounds = [
            (GIB / 2, true, 1, GIB / 4),
            (24 * GIB, true, 1, 12 * GIB),
            (48 * GIB, true, 1, 15 * GIB),
            (79 * GIB, true, 1, 15 * GIB),
            (96 * GIB, true, 1, 18 * GIB),
            (192 * GIB, true, 1, 36 * GIB),
            (192 * GIB, true, 2, 18 * GIB),
            (192 * GIB, true, 8, 15 * GIB),
            (512 * GIB, false, 1, 15 * GIB),
            (16 * GIB, false, 1, 8 * GIB),
        ];
        for (budget, of_its_own, devices, expected) in bounds {
            let found = bound(budget, of_its_own, devices);
            assert_eq!(
                found, expected,
                "{devices} devices of {budget} bytes, {of_its_own}"
            );
        }
    }

    #[test]
    fn the_first_of_large_segments_are_small() {
        let of = |most| [0, 1, 2, 3].map(|index| SegmentMemory::known(most).of_segment(index));
        assert_eq!(of(15 * GIB), [15 * GIB; 4]);
        assert_eq!(of(20 * GIB), [FIRST, 2 * FIRST, 20 * GIB, 20 * GIB]);
    }
}
