//! Coefficients and dual weights on the device.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice};

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
    /// The challenge by which they are folded when they are next read, as an index of a log.
    pub fold: Option<usize>,
}

/// Partial sums of a round's threadgroups: two each.
pub(super) struct Partials {
    pub sums: MetalBuffer<EF>,
    pub groups: usize,
}

impl DeviceTables {
    pub fn new(c: MetalBuffer<EF>, w: MetalBuffer<EF>) -> Self {
        Self { c, w, fold: None }
    }

    /// Encodes the shares of the round polynomial at 1 and 2, of the tables folded by the challenge that waits: one dispatch.
    pub fn round_sums(
        &mut self,
        s: &CommandStream,
        log: MetalSlice<'_, EF>,
    ) -> Result<Partials, MetalProverError> {
        let (c, w) = (&self.c, &self.w);
        let pairs = c.len() >> if self.fold.is_some() { 2 } else { 1 };
        let groups = pairs.div_ceil(THREADS).min(MAX_GROUPS);
        let grid = Grid::groups(groups as u32, THREADS.min(pairs) as u32);
        let mut sums = MetalBuffer::uninit(s.context(), 2 * groups)?;
        let params = WhirRoundParams {
            block: (pairs / groups) as u32,
            r: self.fold.unwrap_or(0) as u32,
        };
        if self.fold.take().is_none() {
            kernels::whir_round_sums(s, grid, c, w, &mut sums, &params)?;
            return Ok(Partials { sums, groups });
        }
        let mut c_out = MetalBuffer::uninit(s.context(), 2 * pairs)?;
        let mut w_out = MetalBuffer::uninit(s.context(), 2 * pairs)?;
        let (to_c, to_w) = (&mut c_out, &mut w_out);
        kernels::whir_fold_sums(s, grid, c, w, log, to_c, to_w, &mut sums, &params)?;
        (self.c, self.w) = (c_out, w_out);
        Ok(Partials { sums, groups })
    }

    /// Folds the tables by the challenge that waits: one dispatch.
    pub fn flush(
        &mut self,
        s: &CommandStream,
        log: MetalSlice<'_, EF>,
    ) -> Result<(), MetalProverError> {
        let Some(r) = self.fold.take() else {
            return Ok(());
        };
        let len = self.c.len() / 2;
        let mut c_out = MetalBuffer::uninit(s.context(), len)?;
        let mut w_out = MetalBuffer::uninit(s.context(), len)?;
        let params = WhirFoldParams {
            len: len as u32,
            r: r as u32,
        };
        let (grid, to_c, to_w) = (Grid::threads(len), &mut c_out, &mut w_out);
        kernels::whir_fold_tables(s, grid, &self.c, &self.w, log, to_c, to_w, &params)?;
        (self.c, self.w) = (c_out, w_out);
        Ok(())
    }
}
