//! The input of the fractional sumcheck.

use openvm_metal_common::{CommandStream, MetalBuffer, MetalContext};

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
        Ok(Self { p, q })
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
