//! Coefficients and dual weights on the device.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer};

use crate::{
    error::MetalProverError,
    kernels,
    params::{WhirFoldParams, WhirRoundParams},
    prelude::EF,
};

/// Threadgroups of a round at most.
const MAX_GROUPS: usize = 256;
/// Pairs of one threadgroup at least, if there are so many; threads of a threadgroup.
const THREADS: usize = 256;

/// Both tables, of one length.
pub(super) struct DeviceTables {
    pub c: MetalBuffer<EF>,
    pub w: MetalBuffer<EF>,
    /// The challenge by which they are folded when they are next read.
    pub fold: Option<EF>,
}

impl DeviceTables {
    pub fn new(c: MetalBuffer<EF>, w: MetalBuffer<EF>) -> Self {
        Self { c, w, fold: None }
    }

    /// The round polynomial at 1 and 2, of the tables folded by the challenge that waits: one dispatch and one wait.
    pub fn round_evals(&mut self, s: &CommandStream) -> Result<[EF; 2], MetalProverError> {
        let (c, w) = (&self.c, &self.w);
        let pairs = c.len() >> if self.fold.is_some() { 2 } else { 1 };
        let groups = pairs.div_ceil(THREADS).min(MAX_GROUPS);
        let block = (pairs / groups) as u32;
        let grid = Grid::groups(groups as u32, THREADS.min(pairs) as u32);
        let mut sums = MetalBuffer::uninit(s.context(), 2 * groups)?;
        match self.fold.take() {
            None => kernels::whir_round_sums(s, grid, c, w, &mut sums, &WhirRoundParams { block })?,
            Some(r) => {
                let mut c_out = MetalBuffer::uninit(s.context(), 2 * pairs)?;
                let mut w_out = MetalBuffer::uninit(s.context(), 2 * pairs)?;
                let (to_c, to_w, params) = (&mut c_out, &mut w_out, fold_params(r, block));
                kernels::whir_fold_sums(s, grid, c, w, to_c, to_w, &mut sums, &params)?;
                (self.c, self.w) = (c_out, w_out);
            }
        }
        let sums = sums.to_host(s)?;
        let sum = |i: usize| sums.iter().skip(i).step_by(2).copied().sum();
        Ok([sum(0), sum(1)])
    }

    /// Folds the tables by the challenge that waits: one dispatch.
    pub fn flush(&mut self, s: &CommandStream) -> Result<(), MetalProverError> {
        let Some(r) = self.fold.take() else {
            return Ok(());
        };
        let len = self.c.len() / 2;
        let mut c_out = MetalBuffer::uninit(s.context(), len)?;
        let mut w_out = MetalBuffer::uninit(s.context(), len)?;
        let (to_c, to_w, params) = (&mut c_out, &mut w_out, fold_params(r, len as u32));
        kernels::whir_fold_tables(s, Grid::threads(len), &self.c, &self.w, to_c, to_w, &params)?;
        (self.c, self.w) = (c_out, w_out);
        Ok(())
    }
}

fn fold_params(r: EF, count: u32) -> WhirFoldParams {
    WhirFoldParams {
        r,
        count,
        unused: [0; 3],
    }
}
