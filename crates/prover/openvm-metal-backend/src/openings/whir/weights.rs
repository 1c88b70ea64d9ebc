//! The dual weights after a query phase: `w[s] += gamma z_0^s + sum_i gamma^(i + 2) z_i^s`.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer};
use p3_field::PrimeCharacteristicRing;

use super::state::Table;
use crate::{
    error::MetalProverError,
    kernels,
    params::WhirWeightParams,
    prelude::{EF, F},
    tensor::{self, BitWeight},
};

/// Entries of a low power table at most, unless the high one would be longer, as a logarithm.
const LOG_LOW: usize = 9;
/// Threads of a threadgroup.
const THREADS: u32 = 256;

/// Summands that a query phase adds to the weights.
pub(super) struct WeightUpdate {
    /// Tables in product form, each with its scale.
    pub terms: Vec<(Vec<BitWeight>, EF)>,
    /// `(z, gamma)`: adds `gamma z^s`.
    pub queries: Vec<(F, EF)>,
}

impl WeightUpdate {
    /// Adds to `w`, or makes the table of `2^log_len` entries if there is none yet: two dispatches. The
    /// rank of the update is the number of queries, so 4 products per query and entry are the floor.
    pub fn apply(
        &self,
        s: &CommandStream,
        w: Option<Table>,
        log_len: usize,
    ) -> Result<Table, MetalProverError> {
        match w {
            Some(Table::Host(mut w)) => {
                s.count_host_work("whir.weights", w.len());
                self.add_on_host(&mut w);
                Ok(Table::Host(w))
            }
            Some(Table::Device(mut w)) => {
                self.encode(s, &mut w, log_len, true)?;
                Ok(Table::Device(w))
            }
            None => {
                let mut w = MetalBuffer::uninit(s.context(), 1 << log_len)?;
                self.encode(s, &mut w, log_len, false)?;
                Ok(Table::Device(w))
            }
        }
    }

    fn encode(
        &self,
        s: &CommandStream,
        w: &mut MetalBuffer<EF>,
        log_len: usize,
        accumulate: bool,
    ) -> Result<(), MetalProverError> {
        let log_low = LOG_LOW.max(log_len.div_ceil(2)).min(log_len);
        let log_high = log_len - log_low;
        let mut points: Vec<F> = self.queries.iter().map(|q| q.0).collect();
        let mut gammas: Vec<EF> = self.queries.iter().map(|q| q.1).collect();
        if points.is_empty() {
            points.push(F::ONE);
            gammas.push(EF::ZERO);
        }
        let (mut term_low, mut term_high) = (Vec::new(), Vec::new());
        for (bits, scale) in &self.terms {
            term_low.extend(tensor::expand(&bits[..log_low], EF::ONE));
            term_high.extend(tensor::expand(&bits[log_low..], *scale));
        }
        let points = MetalBuffer::from_host(s, &points)?;
        let gammas = MetalBuffer::from_host(s, &gammas)?;
        let term_low = MetalBuffer::from_host(s, &term_low)?;
        let term_high = MetalBuffer::from_host(s, &term_high)?;
        let queries = points.len();
        let block = THREADS.min(1 << log_low);
        let params = WhirWeightParams {
            queries: queries as u32,
            log_low: log_low as u32,
            log_high: log_high as u32,
            terms: self.terms.len() as u32,
            accumulate: u32::from(accumulate),
            block,
        };
        let mut low = MetalBuffer::<F>::uninit(s.context(), queries << log_low)?;
        let mut high = MetalBuffer::<EF>::uninit(s.context(), queries << log_high)?;
        let grid = Grid::groups(queries as u32, block);
        kernels::whir_power_tables(s, grid, &points, &gammas, &mut low, &mut high, &params)?;
        let grid = Grid::groups((1u32 << log_len) / block, block);
        kernels::whir_update_weights(s, grid, &low, &high, &term_low, &term_high, w, &params)?;
        Ok(())
    }

    fn add_on_host(&self, w: &mut [EF]) {
        for (bits, scale) in &self.terms {
            for (w, term) in w.iter_mut().zip(tensor::expand(bits, *scale)) {
                *w += term;
            }
        }
        for &(z, gamma) in &self.queries {
            let mut power = F::ONE;
            for w in w.iter_mut() {
                *w += gamma * power;
                power *= z;
            }
        }
    }
}
