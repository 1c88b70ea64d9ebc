//! Environment and failures of a check.

use std::fmt::Debug;

use openvm_metal_common::{CommandStream, MetalBuffer, MetalError};

use super::CheckRng;
use crate::error::MetalProverError;
use crate::prelude::{EF, F};

/// Device, random numbers and comparisons for one check.
pub struct CheckEnv<'a> {
    /// Stream of the device under test.
    pub s: &'a CommandStream,
    /// Source of inputs.
    pub rng: CheckRng,
}

/// Failure of a check.
#[derive(Debug, thiserror::Error)]
pub enum CheckFailure {
    /// A kernel computed something else than its oracle.
    #[error("{what}: element {index} of {len} is {actual}, the oracle says {expected}")]
    Mismatch {
        what: String,
        index: usize,
        len: usize,
        expected: String,
        actual: String,
    },
    /// A kernel wrote another number of elements than its oracle.
    #[error("{what}: {actual} elements, the oracle has {expected}")]
    Length {
        what: String,
        expected: usize,
        actual: usize,
    },
    /// A bad request was not refused as it should be.
    #[error("{what}: expected an error, got a result")]
    NotRefused { what: String },
    /// The oracle itself refused the input.
    #[error("{what}: the reference refuses the input")]
    Oracle { what: String },
    /// A kernel could not run.
    #[error(transparent)]
    Metal(#[from] MetalError),
    /// A prover phase refused.
    #[error(transparent)]
    Prover(#[from] MetalProverError),
}

impl<'a> CheckEnv<'a> {
    pub(super) fn new(s: &'a CommandStream, seed: u64) -> Self {
        Self {
            s,
            rng: CheckRng::new(seed),
        }
    }

    /// Conformance mode is far slower than the device it models: smaller sizes, same corner cases.
    pub fn conformance(&self) -> bool {
        self.s.context().info().conformance
    }

    /// `sizes`, without those over `limit` in conformance mode.
    pub fn sizes(&self, sizes: &[usize], limit: usize) -> Vec<usize> {
        let keep = |size: &usize| !self.conformance() || *size <= limit;
        sizes.iter().copied().filter(keep).collect()
    }

    /// Random extension elements on the host and on the device.
    pub fn ext(&mut self, n: usize) -> Result<(Vec<EF>, MetalBuffer<EF>), MetalError> {
        let host = self.rng.efs(n);
        let device = MetalBuffer::from_host(self.s, &host)?;
        Ok((host, device))
    }

    /// Random base-field elements on the host and on the device.
    pub fn base(&mut self, n: usize) -> Result<(Vec<F>, MetalBuffer<F>), MetalError> {
        let host = self.rng.fs(n);
        let device = MetalBuffer::from_host(self.s, &host)?;
        Ok((host, device))
    }

    /// A buffer whose contents show if they are not overwritten.
    pub fn poisoned(&self, n: usize) -> Result<MetalBuffer<EF>, MetalError> {
        let mut buffer = MetalBuffer::uninit(self.s.context(), n)?;
        buffer.poison(self.s)?;
        Ok(buffer)
    }
}

/// Compares results element by element; `what` names the case, sizes included.
///
/// # Errors
/// The first difference.
pub fn compare<T: PartialEq + Debug>(
    what: impl FnOnce() -> String,
    actual: &[T],
    expected: &[T],
) -> Result<(), CheckFailure> {
    if actual.len() != expected.len() {
        return Err(CheckFailure::Length {
            what: what(),
            expected: expected.len(),
            actual: actual.len(),
        });
    }
    match actual.iter().zip(expected).position(|(a, e)| a != e) {
        None => Ok(()),
        Some(index) => Err(CheckFailure::Mismatch {
            what: what(),
            index,
            len: expected.len(),
            expected: format!("{:?}", expected[index]),
            actual: format!("{:?}", actual[index]),
        }),
    }
}

/// Passes if a bad request was refused.
///
/// # Errors
/// [`CheckFailure::NotRefused`].
pub fn refused<T>(what: &str, result: Result<T, MetalError>) -> Result<(), CheckFailure> {
    match result {
        Err(_) => Ok(()),
        Ok(_) => Err(CheckFailure::NotRefused {
            what: what.to_owned(),
        }),
    }
}
