//! The rounds of a layer's sumcheck whose tables are large: one dispatch and one wait each.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer};
use openvm_stark_backend::FiatShamirTranscript;
use p3_field::PrimeCharacteristicRing;

use super::host::{self, HostTable};
use super::prover::Rounds;
use super::round::RoundSums;
use super::tree::{FracTree, LayerNodes};
use crate::error::MetalProverError;
use crate::kernels;
use crate::params::{GkrEqParams, GkrRoundParams};
use crate::prelude::{EF, SC};

/// Most threadgroups of a round; each leaves two elements that the host adds up.
const MAX_GROUPS: usize = 1024;
/// Fewest pairs of a threadgroup, and most threads of it.
const MIN_CHUNK: usize = 64;
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
    lambda: EF,
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
            lambda: EF::ZERO,
        })
    }

    /// Prepares a layer: the eq tables of its point, which has at least one coordinate.
    fn start_layer(
        &mut self,
        s: &CommandStream,
        xi: &[EF],
        lambda: EF,
    ) -> Result<(), MetalProverError> {
        let vars = xi.len() - 1;
        let (low, high) = heap_entries(vars);
        (self.vars, self.low_entries, self.lambda) = (vars, low, lambda);
        let mut params = GkrEqParams {
            low_entries: low as u32,
            entries: (low + high) as u32,
            levels: vars.min(DIRECT_VARS).max(vars.saturating_sub(HIGH_VARS)) as u32,
            ..Default::default()
        };
        let pairs = &xi[1..];
        for (slot, &x) in params.high.iter_mut().zip(pairs.iter().rev()) {
            *slot = x;
        }
        if low > 0 {
            for (slot, &x) in params
                .low
                .iter_mut()
                .zip(pairs[..vars - HIGH_VARS].iter().rev())
            {
                *slot = x;
            }
        }
        Ok(kernels::gkr_eq_heaps(
            s,
            Grid::threads(low + high),
            &mut self.eq,
            &params,
        )?)
    }

    /// Runs rounds of layer `m` as long as their tables have more than `2^log_host_rows` rows (round 0
    /// has), and folds the last of these tables on the host.
    pub fn prove<TS: FiatShamirTranscript<SC>>(
        &mut self,
        s: &CommandStream,
        tree: &mut FracTree,
        m: usize,
        lambda: EF,
        rounds: &mut Rounds<'_, TS>,
        log_host_rows: usize,
    ) -> Result<HostTable, MetalProverError> {
        self.start_layer(s, rounds.xi(), lambda)?;
        let (mut i, mut r) = (0, EF::ZERO);
        loop {
            let groups = self.encode(s, tree, m, i, r, rounds.at_one())?;
            let log_rows_after = m - 2 - i;
            if log_rows_after <= log_host_rows {
                s.count_host_work("gkr: rounds of small tables", 1 << log_rows_after);
                let (sums, mut table) =
                    self.finish_with_table(s, tree, m, i, groups, rounds.xi())?;
                table.fold(rounds.next(sums));
                return Ok(table);
            }
            let partials = self.partials.slice(..2 * groups).to_host(s)?;
            r = rounds.next(add_up(&partials));
            i += 1;
        }
    }

    /// Encodes round `i` of layer `m`: for `i > 0` folds by `r`, the challenge of the round before,
    /// into slot `m - i`. Returns the number of threadgroups.
    fn encode(
        &mut self,
        s: &CommandStream,
        tree: &mut FracTree,
        m: usize,
        i: usize,
        r: EF,
        at_one: bool,
    ) -> Result<usize, MetalProverError> {
        let (params, groups, threads) = self.plan(i, r, at_one);
        let grid = Grid::groups(groups as u32, threads as u32);
        let (eq, partials) = (&self.eq, &mut self.partials);
        match i {
            0 => match tree.layer(m) {
                LayerNodes::Leaves(p, q) => {
                    kernels::gkr_first_round_leaves(s, grid, p, q, eq, partials, &params)?
                }
                LayerNodes::Planes(p, q) => {
                    kernels::gkr_first_round_planes(s, grid, p, q, eq, partials, &params)?
                }
            },
            1 => match tree.layer_and_slot_below(m) {
                (LayerNodes::Leaves(p, q), out) => {
                    kernels::gkr_first_fold_leaves(s, grid, p, q, out, eq, partials, &params)?
                }
                (LayerNodes::Planes(p, q), out) => {
                    kernels::gkr_first_fold_planes(s, grid, p, q, out, eq, partials, &params)?
                }
            },
            _ => {
                let (table, out) = tree.slots(m + 1 - i);
                kernels::gkr_fold_round(s, grid, table, out, eq, partials, &params)?
            }
        }
        Ok(groups)
    }

    /// Sums and table of round `i` of layer `m`, with one wait.
    fn finish_with_table(
        &self,
        s: &CommandStream,
        tree: &FracTree,
        m: usize,
        i: usize,
        groups: usize,
        xi: &[EF],
    ) -> Result<(RoundSums, HostTable), MetalProverError> {
        let (partials, xi) = (self.partials.slice(..2 * groups).cast()?, &xi[i..]);
        if i == 0 {
            let (sums, p, q) = tree.layer(m).read_with(s, partials)?;
            let table = HostTable::from_nodes(&p, &q, self.lambda, xi);
            return Ok((add_up(&host::from_words(&sums)), table));
        }
        let read = s.read_many(&[partials, tree.slot(m - i).as_slice()])?;
        let [sums, columns] = &read[..] else {
            return Err(MetalProverError::internal("gkr", "a read of two slices"));
        };
        Ok((
            add_up(&host::from_words(sums)),
            HostTable::from_columns(columns, xi),
        ))
    }

    /// Parameters, threadgroups and threads of round `i`.
    fn plan(&self, i: usize, r: EF, at_one: bool) -> (GkrRoundParams, usize, usize) {
        let vars = self.vars - i;
        let pairs = 1usize << vars;
        let split = vars > DIRECT_VARS;
        let low_vars = if split { vars - HIGH_VARS } else { vars };
        let chunk = (pairs / MAX_GROUPS).max(MIN_CHUNK).min(1 << low_vars);
        let (eq_low, eq_high) = match split {
            true => (1 << low_vars, self.low_entries + (1 << HIGH_VARS)),
            false => (self.low_entries + pairs, 0),
        };
        let params = GkrRoundParams {
            lambda: self.lambda,
            r,
            pairs: pairs as u64,
            chunk: chunk as u32,
            eq_low: eq_low as u32,
            low_vars: low_vars as u32,
            eq_high: eq_high as u32,
            split: split as u32,
            at_one: at_one as u32,
        };
        (params, pairs / chunk, chunk.clamp(32, MAX_THREADS))
    }
}

/// The sums of all threadgroups.
fn add_up(partials: &[EF]) -> RoundSums {
    let mut sums = RoundSums {
        at: EF::ZERO,
        lead: EF::ZERO,
    };
    for partial in partials.chunks_exact(2) {
        sums.at += partial[0];
        sums.lead += partial[1];
    }
    sums
}
