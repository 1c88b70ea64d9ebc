//! The first WHIR round, in which the weights are still one product.
//!
//! `f = sum_j mu^j q_j` over the stacked columns is all that is read from the stacked matrices. The
//! Reed-Solomon message of `f` is a local map `L` of each `2^l_skip` elements (inverse DFT, then subset
//! sums over the same index bits), and the weights `eq(u)` are a product, so the `k` sumcheck rounds
//! depend only on `T[t] = sum_s eq(u_k.., s) c[s 2^k + t]`, `2^k` numbers from one pass over `f`. The
//! message `c` itself is never written: the fold by all `k` challenges is a second pass over `f`.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer};
use p3_field::{Field, PrimeCharacteristicRing, TwoAdicField};

use super::opening::{Opening, WhirCommit};
use crate::{
    error::MetalProverError,
    hash::HashScheme,
    kernels,
    openings::contract::{self, Contraction},
    params::WhirBatchParams,
    prelude::{EF, F},
    tensor::{self, BitWeight},
};

/// Rows of one threadgroup of the batching pass, as a logarithm.
const LOG_BLOCK: u32 = 9;
/// Threads of a threadgroup.
const THREADS: u32 = 256;

/// The batched column `f` and what the first `k` sumcheck rounds need of it.
pub(super) struct FirstRound {
    f: MetalBuffer<EF>,
    l_skip: usize,
    /// `T[t]`, folded by the challenges so far.
    sums: Vec<EF>,
    /// `eq` factors of the variables of this round that are left.
    eq: Vec<BitWeight>,
    /// Product of the folded weights.
    scale: EF,
    challenges: Vec<EF>,
}

impl FirstRound {
    /// Batches the columns and sums up: one dispatch for each range, one wait.
    pub fn new<SC: HashScheme>(
        opening: &Opening<'_, SC>,
        mu: EF,
    ) -> Result<Self, MetalProverError> {
        let &Opening { s, commits, u, .. } = opening;
        let (l_skip, k, log_height) = (opening.shape.l_skip, opening.config.k, u.len());
        let powers = tensor::powers(mu, opening.total_width());
        let powers = MetalBuffer::from_host(s, &powers)?;
        let f = batch(s, commits, log_height, &powers)?;
        let log_block = l_skip.max(k);
        let eq = tensor::eq_bits(u);
        let message = message_matrix(l_skip);
        let block = if log_block < log_height {
            let sums = Contraction::encode(s, &f.as_slice(), &[0], log_block, &eq[log_block..])?;
            let read = s.read_many(&sums.slices(f.as_slice()))?;
            sums.finish(&read).pop().unwrap_or_default()
        } else {
            f.to_host(s)?
        };
        let block: Vec<EF> = block
            .chunks_exact(1 << l_skip)
            .flat_map(|chunk| {
                message
                    .iter()
                    .map(|row| dot(row, chunk))
                    .collect::<Vec<_>>()
            })
            .collect();
        let sums = tensor::contract(&block, k, &eq[k..log_block]);
        Ok(Self {
            f,
            l_skip,
            sums,
            eq: eq[..k].to_vec(),
            scale: EF::ONE,
            challenges: Vec::new(),
        })
    }

    /// The round polynomial at 1 and 2.
    pub fn round_evals(&self) -> [EF; 2] {
        let [_, u] = self.eq[0];
        let linear = tensor::contract(&self.sums, 1, &self.eq[1..]);
        let (zero, one) = (linear[0], linear[1]);
        let at_two = u.double().double() - EF::ONE;
        [
            self.scale * u * (zero + one),
            self.scale * at_two * (zero + one.double()),
        ]
    }

    /// Binds the lowest variable.
    pub fn fold(&mut self, alpha: EF) {
        let [zero, one] = dual_fold(alpha);
        let [w0, w1] = self.eq.remove(0);
        self.scale *= zero * w0 + one * w1;
        self.sums = tensor::fold_pairs(&self.sums, [EF::ONE, alpha]);
        self.challenges.push(alpha);
    }

    /// The folded message, `2^(log_height - k)` coefficients, and the factor that the weights of the rest
    /// have collected.
    pub fn finish(self, s: &CommandStream) -> Result<(MetalBuffer<EF>, EF), MetalProverError> {
        let k = self.challenges.len();
        let bits: Vec<BitWeight> = self.challenges.iter().map(|&a| [EF::ONE, a]).collect();
        let folding = tensor::expand(&bits, EF::ONE);
        let message = message_matrix(self.l_skip);
        let log_block = self.l_skip.max(k);
        // For each output of a block, the weights of its 2^log_block inputs.
        let weights: Vec<EF> = (0..1 << (log_block - k))
            .flat_map(|output| block_weights(&message, &folding, output << k, log_block))
            .collect();
        let weights = MetalBuffer::from_host(s, &weights)?;
        Ok((fold(s, &self.f, &weights, k, log_block)?, self.scale))
    }
}

/// The message of `f` folded by `k` challenges, `2^-k` as many coefficients: output after output of each block of `2^log_block` inputs,
/// with so many `weights` each.
fn fold(
    s: &CommandStream,
    f: &MetalBuffer<EF>,
    weights: &MetalBuffer<EF>,
    k: usize,
    log_block: usize,
) -> Result<MetalBuffer<EF>, MetalProverError> {
    let outputs = 1 << (log_block - k);
    let mut out = MetalBuffer::uninit(s.context(), f.len() >> k)?;
    for output in 0..outputs {
        let (first, to) = (output << log_block, out.slice_mut(output..));
        contract::fold(s, &f.as_slice(), log_block, weights, first, to, outputs)?;
    }
    Ok(out)
}

/// Factors by which a dual weight folds: `w' = (1 - alpha) w_0 + (2 alpha - 1) w_1`.
pub(super) fn dual_fold(alpha: EF) -> BitWeight {
    [EF::ONE - alpha, alpha.double() - EF::ONE]
}

/// `f[row] = sum_j powers[j] q_j[row]` over the stacked columns of all commitments.
fn batch<SC: HashScheme>(
    s: &CommandStream,
    commits: &[WhirCommit<'_, SC>],
    log_height: usize,
    powers: &MetalBuffer<EF>,
) -> Result<MetalBuffer<EF>, MetalProverError> {
    let height = 1usize << log_height;
    let mut f = MetalBuffer::uninit(s.context(), height)?;
    let mut ranges = Vec::new();
    let mut first_column = 0;
    for commit in commits {
        ranges.extend(commit.ranges.iter().map(|range| (first_column, range)));
        first_column += commit.width;
    }
    ranges.retain(|(_, range)| !range.cells.is_empty());
    // A range of at least one stacked column writes every row.
    ranges.sort_by_key(|(_, range)| std::cmp::Reverse(range.cells.len()));
    let mut written = ranges
        .first()
        .is_some_and(|(_, range)| range.cells.len() >= height);
    if !written {
        f.fill_zero(s)?;
    }
    let mut accumulate = !written;
    written = true;
    for (first_column, range) in ranges {
        let len = range.cells.len();
        let log_block = (range.start | len as u64 | height as u64)
            .trailing_zeros()
            .min(LOG_BLOCK);
        let params = WhirBatchParams {
            len: len as u64,
            start: range.start,
            log_height: log_height as u32,
            log_block,
            first_column: first_column as u32,
            accumulate: u32::from(accumulate),
        };
        let groups = (len.min(height) >> log_block) as u32;
        let grid = Grid::groups(groups, THREADS.min(1 << log_block));
        kernels::whir_batch_columns(s, grid, range.cells.slice(), powers, &mut f, &params)?;
        accumulate = written;
    }
    Ok(f)
}

/// `L[t][z]`: coefficient `t` of the Reed-Solomon message of one chunk, from its values on `D`:
/// `sum over j subset of t of omega^(-j z) / 2^l_skip`.
fn message_matrix(l_skip: usize) -> Vec<Vec<F>> {
    let size = 1usize << l_skip;
    let omega = tensor::powers(F::two_adic_generator(l_skip), size);
    let scale = F::from_usize(size).inverse();
    (0..size)
        .map(|t| {
            (0..size)
                .map(|z| {
                    let subsets = (0..size).filter(|j| j & t == *j);
                    subsets.map(|j| omega[(size - j) * z % size]).sum::<F>() * scale
                })
                .collect()
        })
        .collect()
}

/// The weights of the `2^log_block` inputs of a block in `sum_t folding[t] c[first + t]`.
fn block_weights(message: &[Vec<F>], folding: &[EF], first: usize, log_block: usize) -> Vec<EF> {
    let chunk = message.len();
    let mut weights = EF::zero_vec(1 << log_block);
    for (t, &factor) in folding.iter().enumerate() {
        let (of_chunk, row) = ((first + t) / chunk, (first + t) % chunk);
        for (z, &entry) in message[row].iter().enumerate() {
            weights[of_chunk * chunk + z] += factor * entry;
        }
    }
    weights
}

fn dot(row: &[F], values: &[EF]) -> EF {
    row.iter().zip(values).map(|(&l, &v)| v * l).sum()
}
