//! The rounds of a layer's sumcheck whose tables are large: one dispatch each.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice};

use super::sizes::MIN_CHUNK;
use super::tree::{FracTree, LayerNodes};
use crate::error::MetalProverError;
use crate::kernels;
use crate::params::{GkrEqParams, GkrRoundParams};
use crate::prelude::EF;

/// Most threadgroups of a round; each leaves two elements to be added up.
const MAX_GROUPS: usize = 1024;
/// Most threads of a threadgroup.
const MAX_THREADS: usize = 256;
/// Up to so many variables the eq weights of the pairs are one table; above, products of two.
const DIRECT_VARS: usize = 12;
/// Variables of the second factor.
const HIGH_VARS: usize = 8;

/// Device memory for the rounds of all layers: eq tables and sums of threadgroups.
pub(super) struct DeviceRounds {
    eq: MetalBuffer<EF>,
    partials: MetalBuffer<EF>,
    /// Variables of the pairs of round 0.
    vars: usize,
    low_entries: usize,
}

/// Elements of device memory, and where a round finds its challenges in it.
pub(super) struct Challenges<'a> {
    pub memory: MetalSlice<'a, EF>,
    /// Batches denominators with numerators.
    pub lambda: usize,
    /// The challenge of the round before (anything in round 0).
    pub r: usize,
    /// The round's coordinate.
    pub xi: usize,
}

/// The heaps of eq tables for pairs over `vars` variables.
///
/// Entry `2^j + y` of a heap is the eq weight of `y` over its last `j` variables. The high heap is
/// over the last `min(vars, DIRECT_VARS)` variables; the low heap, which comes first, is over all but
/// the last `HIGH_VARS` and exists only if `vars > DIRECT_VARS`.
fn heap_entries(vars: usize) -> (usize, usize) {
    let low = if vars > DIRECT_VARS {
        2 << (vars - HIGH_VARS)
    } else {
        0
    };
    (low, 2 << vars.min(DIRECT_VARS))
}

impl DeviceRounds {
    /// For layers of up to `2^log_len` nodes.
    pub fn new(s: &CommandStream, log_len: usize) -> Result<Self, MetalProverError> {
        let (low, high) = heap_entries(log_len.saturating_sub(2));
        Ok(Self {
            eq: MetalBuffer::uninit(s.context(), low + high)?,
            partials: MetalBuffer::uninit(s.context(), 2 * MAX_GROUPS)?,
            vars: 0,
            low_entries: 0,
        })
    }

    /// Prepares a layer: the eq tables of its point of `1 + vars` coordinates, of which coordinate `t > 0` is
    /// `memory[first + stride * t]`.
    pub fn start_layer(
        &mut self,
        s: &CommandStream,
        memory: MetalSlice<'_, EF>,
        [first, stride]: [usize; 2],
        vars: usize,
    ) -> Result<(), MetalProverError> {
        let (low, high) = heap_entries(vars);
        (self.vars, self.low_entries) = (vars, low);
        let params = GkrEqParams {
            first: first as u32,
            stride: stride as u32,
            low_vars: if low > 0 { vars - HIGH_VARS } else { 0 } as u32,
            high_vars: vars.min(DIRECT_VARS) as u32,
            skipped: HIGH_VARS as u32,
            low_entries: low as u32,
            entries: (low + high) as u32,
            vars: vars as u32,
        };
        let grid = Grid::threads(low + high);
        Ok(kernels::gkr_eq_heaps(
            s,
            grid,
            memory,
            &mut self.eq,
            &params,
        )?)
    }

    /// The eq tables of the layer, and where the heap of its last variables begins: entry `2^j + y` of it is the
    /// weight of pair `y` of `2^j`, for `j` up to [`DIRECT_VARS`].
    pub fn eq(&self) -> (&MetalBuffer<EF>, usize) {
        (&self.eq, self.low_entries)
    }

    /// Partial sums of `groups` threadgroups: two each.
    pub fn partials(&self, groups: usize) -> MetalSlice<'_, EF> {
        self.partials.slice(..2 * groups)
    }

    /// Encodes round `i` of layer `m`: for `i > 0` folds by the challenge of the round before, into slot `m - i`.
    /// Returns the number of threadgroups.
    pub fn encode(
        &mut self,
        s: &CommandStream,
        tree: &mut FracTree,
        m: usize,
        i: usize,
        challenges: &Challenges<'_>,
    ) -> Result<usize, MetalProverError> {
        let (params, groups, threads) = self.plan(tree, m, i, challenges);
        let grid = Grid::groups(groups as u32, threads as u32);
        let (eq, partials, memory) = (&self.eq, &mut self.partials, challenges.memory);
        match i {
            0 => match tree.layer(m) {
                LayerNodes::Leaves(p, q) => {
                    kernels::gkr_first_round_leaves(s, grid, p, q, eq, partials, memory, &params)?
                }
                LayerNodes::Planes(p, q) => {
                    kernels::gkr_first_round_planes(s, grid, p, q, eq, partials, memory, &params)?
                }
            },
            1 => match tree.layer_and_slot_below(m) {
                (LayerNodes::Leaves(p, q), out) => kernels::gkr_first_fold_leaves(
                    s, grid, p, q, out, eq, partials, memory, &params,
                )?,
                (LayerNodes::Planes(p, q), out) => kernels::gkr_first_fold_planes(
                    s, grid, p, q, out, eq, partials, memory, &params,
                )?,
            },
            _ => {
                let (table, out) = tree.slots(m + 1 - i);
                kernels::gkr_fold_round(s, grid, table, out, eq, partials, memory, &params)?
            }
        }
        Ok(groups)
    }

    /// Parameters, threadgroups and threads of round `i` of layer `m`.
    fn plan(
        &self,
        tree: &FracTree,
        m: usize,
        i: usize,
        challenges: &Challenges<'_>,
    ) -> (GkrRoundParams, usize, usize) {
        let vars = self.vars - i;
        let pairs = 1usize << vars;
        let split = vars > DIRECT_VARS;
        let low_vars = if split { vars - HIGH_VARS } else { vars };
        let chunk = (pairs / MAX_GROUPS).max(MIN_CHUNK).min(1 << low_vars);
        let (eq_low, eq_high) = match split {
            true => (1 << low_vars, self.low_entries + (1 << HIGH_VARS)),
            false => (self.low_entries + pairs, 0),
        };
        let mut params = GkrRoundParams {
            pairs: pairs as u64,
            chunk: chunk as u32,
            eq_low: eq_low as u32,
            low_vars: low_vars as u32,
            eq_high: eq_high as u32,
            split: split as u32,
            lambda: challenges.lambda as u32,
            r: challenges.r as u32,
            xi: challenges.xi as u32,
            real: pairs as u64,
            ..Default::default()
        };
        if let Some(padding) = tree.padding_of(m).filter(|p| p.is_skipped(pairs)) {
            params.real = padding.real(pairs) as u64;
            params.padding = padding.denominator(m);
            // The next round reads all rows.
            params.stores = u32::from(!padding.is_skipped(pairs / 2));
        }
        (params, pairs / chunk, chunk.clamp(32, MAX_THREADS))
    }
}
