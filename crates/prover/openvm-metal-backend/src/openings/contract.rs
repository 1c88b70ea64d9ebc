//! Sums of device tables against weights in product form.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice, MetalSliceMut};
use p3_field::PrimeCharacteristicRing;

use crate::{
    error::MetalProverError,
    kernels,
    params::{OpeningsContractParams, OpeningsFoldParams},
    prelude::EF,
    tensor::{self, BitWeight},
};

/// Index bits summed over in one dispatch.
const BITS_PER_PASS: usize = 5;
/// Tables of `2^6` elements are finished on the host. An extension product takes 20 ns there, so that one more dispatch costs less
/// than tables of `2^10`.
const LOG_READ: usize = 6;

/// `out[t][z] = sum_x T[x] input[offsets[t] + x * 2^keep + z]`, summed on the device down to tables of
/// at most `2^max(6, keep)` elements and then on the host.
pub(crate) struct Contraction {
    passes: Vec<Pass>,
    summed: Option<MetalBuffer<EF>>,
    offsets: Vec<usize>,
    log_len: usize,
    keep: usize,
    rest: Vec<BitWeight>,
}

/// Some of the highest index bits, which one dispatch sums over.
struct Pass {
    /// Place of their weights.
    weights: usize,
    bits: usize,
    /// Length of the tables that are left, as a logarithm.
    log_len: usize,
}

impl Contraction {
    /// Plans the sums; nothing is launched. The weights that the device needs are added to `weights`.
    fn new(offsets: &[usize], keep: usize, bits: &[BitWeight], weights: &mut Vec<EF>) -> Self {
        let mut rest = bits.to_vec();
        let mut passes = Vec::new();
        while !rest.is_empty() && keep + rest.len() > LOG_READ {
            let take = BITS_PER_PASS
                .min(rest.len())
                .min(keep + rest.len() - LOG_READ);
            let high = rest.split_off(rest.len() - take);
            passes.push(Pass {
                weights: weights.len(),
                bits: take,
                log_len: keep + rest.len(),
            });
            weights.extend(tensor::expand(&high, EF::ONE));
        }
        Self {
            passes,
            summed: None,
            offsets: offsets.to_vec(),
            log_len: keep + bits.len(),
            keep,
            rest,
        }
    }

    /// Plans the sums and encodes the device part: `ceil((log_len - 6) / 5)` dispatches. The tables (at most three) start at `offsets` and
    /// have `2^(keep + bits.len())` elements each; `bits` are the factors from index bit `keep` upwards.
    pub fn encode(
        s: &CommandStream,
        input: &MetalSlice<'_, EF>,
        offsets: &[usize],
        keep: usize,
        bits: &[BitWeight],
    ) -> Result<Self, MetalProverError> {
        let mut weights = Vec::new();
        let mut contraction = Self::new(offsets, keep, bits, &mut weights);
        if !weights.is_empty() {
            let weights = MetalBuffer::from_host(s, &weights)?;
            contraction.launch(s, input, &weights)?;
        }
        Ok(contraction)
    }

    /// Encodes the device part. `weights` are those that [`Self::new`] added to.
    fn launch(
        &mut self,
        s: &CommandStream,
        input: &MetalSlice<'_, EF>,
        weights: &MetalBuffer<EF>,
    ) -> Result<(), MetalProverError> {
        for pass in &self.passes {
            let tables = self.offsets.len();
            let mut params = OpeningsContractParams {
                offsets: [0; 3],
                tables: tables as u32,
                terms: 1 << pass.bits,
                len: 1 << pass.log_len,
                weights: pass.weights as u32,
            };
            for (to, &from) in params.offsets.iter_mut().zip(&self.offsets) {
                *to = from as u64;
            }
            let mut out = MetalBuffer::uninit(s.context(), tables << pass.log_len)?;
            let grid = Grid::threads(1 << pass.log_len);
            match &self.summed {
                Some(summed) => {
                    kernels::openings_contract(s, grid, summed, weights, &mut out, &params)?
                }
                None => kernels::openings_contract(s, grid, input, weights, &mut out, &params)?,
            }
            self.offsets = (0..tables).map(|t| t << pass.log_len).collect();
            self.log_len = pass.log_len;
            self.summed = Some(out);
        }
        Ok(())
    }

    /// Slices to read back: one for each table. `input` is the slice given to [`Self::encode`].
    pub fn slices<'a>(&'a self, input: MetalSlice<'a, EF>) -> Vec<MetalSlice<'a, EF>> {
        let source = self
            .summed
            .as_ref()
            .map_or(input, |summed| summed.as_slice());
        self.offsets
            .iter()
            .map(|&at| source.slice(at..at + (1 << self.log_len)))
            .collect()
    }

    /// The sums, from what was read: `2^keep` values for each table.
    pub fn finish(&self, read: &[Vec<EF>]) -> Vec<Vec<EF>> {
        let weights = tensor::expand(&self.rest, EF::ONE);
        read.iter()
            .map(|table| tensor::weighted_sum(table, self.keep, &weights))
            .collect()
    }
}

/// `out[j * out_stride] = sum_k weights[k] input[j * 2^log_block + k]` for all blocks of `input`.
pub(crate) fn fold(
    s: &CommandStream,
    input: &MetalSlice<'_, EF>,
    log_block: usize,
    weights: &MetalBuffer<EF>,
    first_weight: usize,
    out: MetalSliceMut<'_, EF>,
    out_stride: usize,
) -> Result<(), MetalProverError> {
    let len = input.len() >> log_block;
    let params = OpeningsFoldParams {
        len: len as u32,
        log_block: log_block as u32,
        weights: first_weight as u32,
        out_stride: out_stride as u32,
    };
    kernels::openings_fold(s, Grid::threads(len), input, weights, out, &params)?;
    Ok(())
}
