//! The weights of constraints and interactions in the batch sumcheck.

use openvm_metal_common::{CommandStream, MetalBuffer};
use p3_field::PrimeCharacteristicRing;
use p3_util::log2_ceil_usize;

use super::{leaves::norm_factor, logup::LogupGkr, plan::Plan};
use crate::{
    error::MetalProverError,
    prelude::{EF, F},
    programs::LogupTerm,
    tensor::{eq_bits, expand, powers},
};

/// Variables of the table of eq weights that neighbouring interactions share, at most.
const LOG_NEIGHBOURS: usize = 8;

/// What the programs of all traces multiply their results with, and what is done to the sums afterwards.
pub struct Weights {
    /// Powers of lambda, then the coefficients of the LogUp programs of each trace, where the plan of each trace says.
    pub coefficients: MetalBuffer<EF>,
    /// For each trace the sum of the denominators' constant terms, which programs leave out.
    pub constants: Vec<EF>,
    /// For each trace what lifting multiplies its counts by.
    pub norms: Vec<F>,
}

impl Weights {
    /// Computes and uploads them. On one thread: to wake others takes longer than the work, and tens of milliseconds when they have just made
    /// traces.
    pub fn new(
        s: &CommandStream,
        plan: &Plan,
        logup: &LogupGkr,
        lambda: EF,
    ) -> Result<Self, MetalProverError> {
        let l_skip = plan.input.l_skip;
        let programs = |t: usize| plan.input.traces[t].air_data.programs();
        let mut table = powers(lambda, plan.lambda_powers);
        let (mut constants, mut norms) = (Vec::new(), Vec::new());
        for (t, trace) in plan.traces.iter().enumerate() {
            debug_assert_eq!(table.len() as u32, trace.logup_coefficients);
            let programs = programs(t);
            let eq_3b = logup.eq_3b(l_skip, t, trace.n_lift, programs.interactions.len());
            let weight = |term: &LogupTerm| {
                eq_3b[term.interaction as usize] * logup.beta_powers[term.power as usize]
            };
            let coefficients = programs.logup_coefficients.iter();
            table.extend(coefficients.map(|terms| terms.iter().map(weight).sum::<EF>()));
            let interactions = programs.interactions.iter().zip(&eq_3b);
            let constant = interactions.map(|(&(bus, len), &eq)| {
                eq * logup.beta_powers[len as usize] * F::from_u32(bus + 1)
            });
            constants.push(constant.sum());
            norms.push(norm_factor(l_skip, trace.log_height));
        }
        Ok(Self {
            coefficients: MetalBuffer::from_host(s, &table)?,
            constants,
            norms,
        })
    }
}

impl LogupGkr {
    /// For each interaction of a trace the eq weight of its place among all stacked interactions. Places are neighbours: the
    /// weights of their last variables are a table, those of the others are kept while they are the same.
    fn eq_3b(&self, l_skip: usize, t: usize, n_lift: usize, interactions: usize) -> Vec<EF> {
        if interactions == 0 {
            return Vec::new();
        }
        let from = l_skip + n_lift;
        let bits = eq_bits(&self.xi[from..l_skip + self.n_logup]);
        let log_low = log2_ceil_usize(interactions).min(LOG_NEIGHBOURS);
        let (low, high) = bits.split_at(bits.len().min(log_low));
        let low = expand(low, EF::ONE);
        let weight_of = |place: usize| -> EF {
            let factors = high.iter().enumerate();
            factors
                .map(|(k, weight)| weight[(place >> k) & 1])
                .product()
        };
        let mut known = (0, weight_of(0));
        let weight = |i: usize| {
            let row = self.layout.get(t, i).map_or(0, |slice| slice.row_idx) >> from;
            let place = row / low.len();
            if place != known.0 {
                known = (place, weight_of(place));
            }
            known.1 * low[row % low.len()]
        };
        (0..interactions).map(weight).collect()
    }
}
