//! The first round, whose weights are still one product: the sums that its variables depend on, and the fold by all of them.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer};
use p3_field::PrimeCharacteristicRing;

use super::{
    super::{
        first_round::{batch, fold, message_matrix},
        opening::Opening,
        tables::DeviceTables,
    },
    messages::DeviceMessages,
};
use crate::{
    error::MetalProverError,
    hash::HashScheme,
    kernels,
    openings::contract::{self, Contraction},
    params::{WhirFoldWeightParams, WhirPowersParams},
    prelude::{EF, F},
    tensor,
};

/// Outputs of the first round.
pub(super) struct Folded {
    /// Coefficients of the folded message.
    pub coefficients: MetalBuffer<EF>,
    /// The factor that the weights of the rest have collected.
    pub scale: MetalBuffer<EF>,
}

/// Batches all columns by `mu` and binds the first `k` variables: the tables of their sumcheck are `T` ([`super::super::first_round`]) and
/// the `2^k` products of their weights.
pub(super) fn first_round<SC: HashScheme>(
    opening: &Opening<'_, SC>,
    messages: &mut DeviceMessages,
) -> Result<Folded, MetalProverError> {
    let &Opening {
        s,
        config,
        commits,
        u,
        ..
    } = opening;
    let (l_skip, k) = (opening.shape.l_skip, config.k);
    let mu = messages.challenge(s, config.mu_pow_bits)?;
    let powers = powers(s, messages.log(), mu, opening.total_width())?;
    let f = batch(s, commits, u.len(), &powers)?;

    let (log_block, eq, message) = (l_skip.max(k), tensor::eq_bits(u), message_matrix(l_skip));
    let sums = Contraction::encode(s, &f.as_slice(), &[0], log_block, &eq[log_block..])?;
    let (summed, rest) = sums.left();
    let summed = summed.unwrap_or(&f);
    let of_block = block_rows(&message, k, &tensor::expand(&eq[k..log_block], EF::ONE));
    let rows: Vec<EF> = of_block
        .iter()
        .flat_map(|row| {
            rest.iter()
                .flat_map(move |&factor| row.iter().map(move |&entry| factor * entry))
        })
        .collect();
    let rows = MetalBuffer::from_host(s, &rows)?;
    // One block of `rows` for each output, whose weights are the sums.
    let log_len = summed.len().trailing_zeros() as usize;
    let mut tables = MetalBuffer::uninit(s.context(), 1 << k)?;
    let to = tables.as_slice_mut();
    contract::fold(s, &rows.as_slice(), log_len, summed, 0, to, 1)?;
    let weights = MetalBuffer::from_host(s, &tensor::expand(&eq[..k], EF::ONE))?;
    let mut tables = DeviceTables::new(tables, weights);
    let alpha = messages.sumcheck(s, &mut tables, k, config.folding_pow_bits)?;

    let message: Vec<F> = message.concat();
    let message = MetalBuffer::from_host(s, &message)?;
    let mut weights = MetalBuffer::uninit(s.context(), 1 << (2 * log_block - k))?;
    let params = WhirFoldWeightParams {
        l_skip: l_skip as u32,
        k: k as u32,
        log_block: log_block as u32,
        alpha: alpha as u32,
        stride: 4,
    };
    let grid = Grid::threads(weights.len());
    kernels::whir_fold_weights(s, grid, &message, messages.log(), &mut weights, &params)?;
    Ok(Folded {
        coefficients: fold(s, &f, &weights, k, log_block)?,
        scale: tables.w,
    })
}

/// `log[at]^i` for i below `count`.
fn powers(
    s: &CommandStream,
    log: &MetalBuffer<EF>,
    at: usize,
    count: usize,
) -> Result<MetalBuffer<EF>, MetalProverError> {
    let mut powers = MetalBuffer::uninit(s.context(), count)?;
    let params = WhirPowersParams {
        count: count as u32,
        at: at as u32,
    };
    kernels::whir_powers(s, Grid::threads(count), log, &mut powers, &params)?;
    Ok(powers)
}

/// For each `t < 2^k` the weights of a block's inputs in `T[t] = sum_y eq[y] c[y 2^k + t]`, `c` the coefficients of the block, each `2^l_skip`
/// of them `message` times as many inputs.
fn block_rows(message: &[Vec<F>], k: usize, eq: &[EF]) -> Vec<Vec<EF>> {
    let (size, len) = (message.len(), eq.len() << k);
    let row = |t: usize| {
        let mut row = EF::zero_vec(len);
        for (y, &factor) in eq.iter().enumerate() {
            let c = (y << k) + t;
            let of_chunk = &mut row[c / size * size..][..size];
            for (to, &entry) in of_chunk.iter_mut().zip(&message[c % size]) {
                *to += factor * entry;
            }
        }
        row
    };
    (0..1 << k).map(row).collect()
}
