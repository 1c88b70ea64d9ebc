//! Rounds whose challenges the device samples: none is waited for, the host reads them all at the end.
//!
//! The log of the device has the values at 1 and 2 of each round's polynomial, its working memory the challenges. From the round on in
//! which no height has variables left there are only blocks.

use openvm_metal_common::{Grid, MetalBuffer, MetalSliceMut};
use openvm_stark_backend::FiatShamirTranscript;

use super::{blocks::Blocks, columns::BoundColumns, plan::THREADS, rounds::Rounds};
use crate::{
    error::MetalProverError,
    hash::HashScheme,
    kernels,
    params::{StackedBlock, StackedBlocksParams, StackedFinishParams, TranscriptState},
    prelude::EF,
    transcript::replayed,
};

const PHASE: &str = "openings.stacked_reduction";
/// Pairs of blocks of a threadgroup, and elements of a pair.
const BLOCK: usize = THREADS as usize;
const PAIR: usize = 4;

impl Rounds<'_> {
    /// Proves all rounds, if the tallest height's tables are on the device, with one wait; the host's transcript goes to where the
    /// device's is, which began as `sponge`. The polynomials at 1 and 2; their challenges are added to `u`.
    pub fn prove_on_device<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
        &mut self,
        transcript: &mut TS,
        sponge: TranscriptState,
        n_stack: usize,
        u: &mut Vec<EF>,
    ) -> Result<Vec<[EF; 2]>, MetalProverError> {
        let (s, reduction) = (self.reduction.s, self.reduction);
        let Some(plans) = &reduction.plan.device else {
            return Ok(Vec::new());
        };
        let members = MetalBuffer::from_host(s, self.block_plan.all())?;
        let mut state = MetalBuffer::from_host(s, &[sponge])?;
        let mut log = MetalBuffer::<EF>::uninit(s.context(), 2 * n_stack)?;
        let mut blocks = None;
        for round in 1..=n_stack {
            let plan = plans.rounds.get(round - 1);
            let of_tables = plan.map_or(0, |plan| plan.dispatch.jobs.groups as usize);
            let of_blocks = self.block_groups(round);
            let groups = of_tables + of_blocks;
            let mut sums = MetalBuffer::uninit(s.context(), 2 * groups)?;
            let (to_tables, to_blocks) = sums.split_at_mut(2 * of_tables);
            if let Some(plan) = plan {
                self.encode_tables(plan, round, to_tables)?;
            }
            blocks = self.encode_blocks(round, &members, blocks, to_blocks)?;
            let params = StackedFinishParams {
                r: reduction.coordinate(round),
                next: reduction.coordinate(round + 1),
                groups: groups as u32,
                round: round as u32,
                unused: [0; 2],
            };
            let (grid, work) = (Grid::groups(1, THREADS), &mut self.work_on_device);
            kernels::stacked_finish_round(s, grid, &sums, work, &mut state, &mut log, &params)?;
        }
        self.device = None;
        let end = n_stack + 1;
        let mut sums = MetalBuffer::uninit(s.context(), 2 * self.block_groups(end))?;
        let to = sums.as_slice_mut();
        blocks = self.encode_blocks(end, &members, blocks, to)?;

        let mut slices = vec![log.slice(..), self.work_on_device.slice(..n_stack)];
        slices.extend(blocks.as_ref().map(|blocks| blocks.slice(..)));
        let mut read = s.read_many(&slices)?.into_iter();
        let (Some(log), Some(challenges)) = (read.next(), read.next()) else {
            return Err(MetalProverError::internal(PHASE, "a read is missing"));
        };
        self.blocks = Blocks::from_device(&read.next().unwrap_or_default());
        self.blocks_of = end;
        let mut polys = Vec::with_capacity(n_stack);
        for (evals, &challenge) in log.chunks_exact(2).zip(&challenges) {
            for &eval in evals {
                transcript.observe_ext(eval);
            }
            let sampled = transcript.sample_ext();
            replayed(PHASE, sampled, challenge)?;
            polys.push([evals[0], evals[1]]);
            u.push(sampled);
        }
        Ok(polys)
    }

    /// Threadgroups over the blocks of a round.
    fn block_groups(&self, round: usize) -> usize {
        self.block_plan.of(round).len().div_ceil(2 * BLOCK)
    }

    /// Encodes the blocks of a round, from those of the round before, and their sums. Nothing if there are none.
    fn encode_blocks(
        &mut self,
        round: usize,
        members: &MetalBuffer<StackedBlock>,
        before: Option<MetalBuffer<EF>>,
        sums: MetalSliceMut<'_, EF>,
    ) -> Result<Option<MetalBuffer<EF>>, MetalProverError> {
        let (s, plan) = (self.reduction.s, self.block_plan);
        let pairs = plan.of(round).len() / 2;
        if pairs == 0 {
            return Ok(None);
        }
        let mut values = None;
        let bound = self.bound_in(round);
        if let Some(bound) = bound {
            let mut of_bound = MetalBuffer::uninit(s.context(), bound.len)?;
            self.encode_bound(bound, of_bound.as_slice_mut())?;
            values = Some(of_bound);
        }
        let params = StackedBlocksParams {
            pairs: pairs as u32,
            log_shares: bound.map_or(0, BoundColumns::log_shares) as u32,
            round: round as u32,
            block: BLOCK as u32,
        };
        let mut out = MetalBuffer::uninit(s.context(), PAIR * pairs)?;
        let work = self.work_on_device.slice(..);
        // Where there is nothing to read, anything stands.
        let before = before.as_ref().map_or(work, |before| before.slice(..));
        let values = values.as_ref().map_or(work, |values| values.slice(..));
        let grid = Grid::groups(self.block_groups(round) as u32, THREADS);
        // SAFETY: the plan of a round names pairs of the round before, which `before` has, as it was made by the plan of that round; shares
        // of the columns that are bound before this round, which `values` has; columns, with two powers of lambda each; and factors of
        // `Work::place`, which the working memory has. In round 1 it names no pairs.
        unsafe {
            kernels::stacked_fold_blocks(
                s,
                grid,
                members.slice(plan.range(round)),
                before,
                values,
                &self.lambdas_on_device,
                work,
                &mut out,
                sums,
                &params,
            )?;
        }
        Ok(Some(out))
    }
}
