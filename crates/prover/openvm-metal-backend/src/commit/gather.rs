//! Copies of small traces, as they lie in the stacked matrix.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice};

use super::ranges::{RangePlan, TraceShape};
use crate::{
    error::MetalProverError,
    kernels,
    matrix::MetalMatrix,
    params::{CommitGatherJob, CommitGatherParams, COMMIT_JOBS, COMMIT_SOURCES},
    prelude::F,
};

/// Cells that one threadgroup copies; the same number is in `metal/commit/gather.metal`.
const BLOCK: u64 = 4096;

/// Copies what `plan` copies into one new buffer, range after range. `None` if that is nothing.
///
/// One dispatch per 16 source buffers or 64 traces; 8 bytes of traffic per cell.
pub(super) fn gather_copies(
    s: &CommandStream,
    plan: &[RangePlan],
    shapes: &[TraceShape],
    l_skip: usize,
    traces: &[&MetalMatrix<F>],
) -> Result<Option<MetalBuffer<F>>, MetalProverError> {
    let copied = plan.iter().filter_map(|range| match range {
        RangePlan::Copied { traces, len, .. } => Some((traces.clone(), *len)),
        RangePlan::InPlace { .. } => None,
    });
    let total: u64 = copied.clone().map(|(_, len)| len).sum();
    if total == 0 {
        return Ok(None);
    }
    let mut target = MetalBuffer::uninit(s.context(), total as usize)?;
    let mut batch = Batch::default();
    let mut at = 0;
    for (range, len) in copied {
        let end = at + len;
        for trace in range {
            let len = shapes[trace].stacked_cells(l_skip);
            let log_stride = l_skip.saturating_sub(shapes[trace].log_height) as u32;
            if len > 0 {
                if batch.full_for(traces[trace]) {
                    batch.dispatch(s, &mut target)?;
                }
                batch.push(traces[trace], at, len, log_stride);
            }
            at += len;
        }
        if at < end {
            if batch.jobs.len() == COMMIT_JOBS {
                batch.dispatch(s, &mut target)?;
            }
            batch.push_zeros(at, end - at);
        }
        at = end;
    }
    batch.dispatch(s, &mut target)?;
    Ok(Some(target))
}

/// Jobs collected for one dispatch.
#[derive(Default)]
struct Batch<'a> {
    sources: Vec<&'a MetalMatrix<F>>,
    jobs: Vec<CommitGatherJob>,
}

impl<'a> Batch<'a> {
    fn source_of(&self, trace: &MetalMatrix<F>) -> Option<usize> {
        let buffer = trace.cells().parts().0;
        self.sources
            .iter()
            .position(|other| std::sync::Arc::ptr_eq(other.cells().parts().0, buffer))
    }

    fn full_for(&self, trace: &MetalMatrix<F>) -> bool {
        self.jobs.len() == COMMIT_JOBS
            || (self.source_of(trace).is_none() && self.sources.len() == COMMIT_SOURCES)
    }

    fn push(&mut self, trace: &'a MetalMatrix<F>, target_start: u64, len: u64, log_stride: u32) {
        let source = self.source_of(trace).unwrap_or_else(|| {
            self.sources.push(trace);
            self.sources.len() - 1
        });
        self.jobs.push(CommitGatherJob {
            source_start: trace.cells().parts().1 as u64,
            target_start,
            len,
            source: source as u32,
            log_stride,
        });
    }

    fn push_zeros(&mut self, target_start: u64, len: u64) {
        self.jobs.push(CommitGatherJob {
            target_start,
            len,
            source: COMMIT_SOURCES as u32,
            ..Default::default()
        });
    }

    fn dispatch(
        &mut self,
        s: &CommandStream,
        target: &mut MetalBuffer<F>,
    ) -> Result<(), MetalProverError> {
        if self.jobs.is_empty() {
            return Ok(());
        }
        if self.sources.is_empty() {
            // Nothing but padding.
            for job in std::mem::take(&mut self.jobs) {
                let start = job.target_start as usize;
                target
                    .slice_mut(start..start + job.len as usize)
                    .fill_zero(s)?;
            }
            return Ok(());
        }
        let mut p = CommitGatherParams {
            jobs: [CommitGatherJob::default(); COMMIT_JOBS],
        };
        p.jobs[..self.jobs.len()].copy_from_slice(&self.jobs);
        let longest = self.jobs.iter().map(|job| job.len).max().unwrap_or(0);
        let groups = [longest.div_ceil(BLOCK) as u32, self.jobs.len() as u32, 1];
        let sources = std::array::from_fn(|i| -> MetalSlice<'_, F> {
            let matrix = self.sources.get(i).unwrap_or(&self.sources[0]);
            matrix.cells().parts().0.as_slice()
        });
        let cells = self.jobs.iter().map(|job| job.len).sum();
        let grid = Grid::groups(groups, [256u32, 1, 1]);
        // SAFETY: every job copies cells of a trace, which its source holds, to a section of `target`; the
        // grid has one row of threadgroups for each job.
        let launched = unsafe { kernels::commit_gather(s, grid, sources, target, &p, cells) };
        launched?;
        self.sources.clear();
        self.jobs.clear();
        Ok(())
    }
}
