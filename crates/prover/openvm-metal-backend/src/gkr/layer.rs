//! The input of the fractional sumcheck.

use openvm_metal_common::{CommandStream, MetalBuffer, MetalContext};
use p3_field::PrimeCharacteristicRing;

use super::sizes::{LOG_TAIL_ROWS, MIN_CHUNK};
use crate::error::MetalProverError;
use crate::prelude::{EF, F};

/// The leaf layer: fraction `i` is `p[i] / q[i]`.
///
/// Leaves are in natural order, the order of the reference's `evals`: index `i` is the row of the
/// stacked (lifted) interactions, bit 0 of `i` is the variable that the tree sums over first. The norm
/// factor of lifted traces is part of `p`, the `alpha` that keeps denominators from zero is part of
/// `q`; rows without interaction are `0 / alpha`. Numerators are in the base field, as the interactions of a
/// circuit give them. Memory: 20 bytes per leaf; the phase frees it.
#[derive(Debug)]
pub struct FracLayer {
    p: MetalBuffer<F>,
    q: MetalBuffer<EF>,
    padding: Option<Padding>,
}

/// The end of a layer whose leaves are all `0 / denominator`: neither these nor the nodes above them are written or read in large layers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Padding {
    /// Parts of the leaves before it, of `2^LOG_PARTS`.
    parts: usize,
    denominator: EF,
    log_leaves: usize,
}

/// The leaves are padding from a part of this size on, as a logarithm of their number.
const LOG_PARTS: usize = 6;
/// Fewest pairs of a round that does not read padding: each part has threadgroups of its own.
const LEAST_PAIRS: usize = MIN_CHUNK << LOG_PARTS;
// One threadgroup for all pairs, or the host, reads whole tables.
const _: () = assert!(LEAST_PAIRS >= 2 << LOG_TAIL_ROWS);
/// Layers that the host takes over are whole, up to this one.
const MOST_HOST_LOG_LAYER: usize = LEAST_PAIRS.ilog2() as usize;

impl Padding {
    /// True if nodes of padding of layer `m` are not written: its first two rounds read nodes.
    pub fn is_left_out(&self, m: usize) -> bool {
        m >= 3 && 1 << (m - 3) >= LEAST_PAIRS
    }

    /// True if a round of `pairs` pairs of such a layer needs no padding.
    pub fn is_skipped(&self, pairs: usize) -> bool {
        pairs >= LEAST_PAIRS
    }

    /// Number of a layer's equal shares, `2^k` or more, before the padding.
    pub fn real(&self, shares: usize) -> usize {
        (shares >> LOG_PARTS) * self.parts
    }

    /// The denominator of nodes of padding in layer `m`.
    pub fn denominator(&self, m: usize) -> EF {
        self.denominator.exp_power_of_2(self.log_leaves - m)
    }
}

impl FracLayer {
    /// # Errors
    /// [`MetalProverError::GkrLeaves`] unless both have the same length, a power of two that is at least 2 and
    /// at most 2^32.
    pub fn new(p: MetalBuffer<F>, q: MetalBuffer<EF>) -> Result<Self, MetalProverError> {
        let (numerators, denominators) = (p.len(), q.len());
        let fits = denominators.is_power_of_two() && (2..=1 << 32).contains(&denominators);
        if numerators != denominators || !fits {
            return Err(MetalProverError::GkrLeaves {
                numerators,
                denominators,
            });
        }
        Ok(Self {
            p,
            q,
            padding: None,
        })
    }

    /// Memory for `2^log_len` leaves, to be written by the caller.
    ///
    /// # Errors
    /// [`MetalProverError::GkrLeaves`] for a bad length, or out of memory.
    pub fn uninit(context: &MetalContext, log_len: usize) -> Result<Self, MetalProverError> {
        let len = 1usize.checked_shl(log_len as u32).unwrap_or(0);
        if !(1..=32).contains(&log_len) {
            return Err(MetalProverError::GkrLeaves {
                numerators: len,
                denominators: len,
            });
        }
        let p = MetalBuffer::uninit(context, len)?;
        Self::new(p, MetalBuffer::uninit(context, len)?)
    }

    /// Leaves from the host.
    pub fn from_host(s: &CommandStream, p: &[F], q: &[EF]) -> Result<Self, MetalProverError> {
        let p = MetalBuffer::from_host(s, p)?;
        Self::new(p, MetalBuffer::from_host(s, q)?)
    }

    /// Says that all leaves from `used` on are `0 / denominator`; how many have to be written. Where the host takes over layers of
    /// `2^log_host` nodes or fewer.
    pub(crate) fn pad(&mut self, used: usize, denominator: EF, log_host: usize) -> usize {
        let len = self.q.len();
        let parts = used.div_ceil((len >> LOG_PARTS).max(1)).max(1);
        let padding = Padding {
            parts,
            denominator,
            log_leaves: self.log_len(),
        };
        if parts >= 1 << LOG_PARTS
            || log_host > MOST_HOST_LOG_LAYER
            || !padding.is_left_out(padding.log_leaves)
        {
            return len;
        }
        self.padding = Some(padding);
        padding.real(len)
    }

    /// Result of [`Self::pad`].
    pub(super) fn padding(&self) -> Option<Padding> {
        self.padding
    }

    /// Log of the number of leaves, at least 1.
    pub fn log_len(&self) -> usize {
        self.q.len().trailing_zeros() as usize
    }

    /// The numerators.
    pub fn numerators(&self) -> &MetalBuffer<F> {
        &self.p
    }

    /// The denominators.
    pub fn denominators(&self) -> &MetalBuffer<EF> {
        &self.q
    }

    /// Both, to be written.
    pub fn parts_mut(&mut self) -> (&mut MetalBuffer<F>, &mut MetalBuffer<EF>) {
        (&mut self.p, &mut self.q)
    }
}
