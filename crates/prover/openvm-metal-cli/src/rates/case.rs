//! One kernel to measure: how to prepare and launch it, and what it must do at least.

use openvm_metal_backend::prelude::{EF, F};
use openvm_metal_backend::selftest::CheckRng;
use openvm_metal_common::{
    CommandStream, DeviceElem, MemCopyD2D, MemCopyH2D, MetalBuffer, MetalError,
};

/// Base-field products in a Poseidon2 permutation of width 16: 141 S-boxes of 4.
pub const PERMUTATION: f64 = 564.0;
/// Bytes of an extension element.
pub const EXT_BYTES: f64 = 16.0;
/// Bytes of a base element.
pub const BASE_BYTES: f64 = 4.0;

/// The least work of a launch: what any implementation must compute and move.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Things done, for the rate.
    pub items: f64,
    /// Unit of the count.
    pub unit: &'static str,
    /// Products and bytes.
    pub least: Least,
}

/// Source of the least work.
#[derive(Clone, Copy, Debug)]
pub enum Least {
    /// The cost clauses of the kernels that run, each of which does nothing twice.
    Clauses,
    /// The problem: kernels in several passes move more.
    Problem {
        /// Base-field products.
        products: f64,
        /// Bytes that must pass between memory and the processors: inputs read once, outputs written once.
        bytes: f64,
    },
}

/// A launch that can be repeated.
pub type Launch = Box<dyn FnMut(&CommandStream) -> Result<(), MetalError>>;

/// A kernel with its inputs in device memory.
pub struct Prepared {
    /// Size, for the table.
    pub size: String,
    /// Work of the case.
    pub work: Work,
    /// Does it once.
    pub launch: Launch,
}

/// A kernel to measure.
#[derive(Clone, Copy)]
pub struct Case {
    /// Phase.
    pub group: &'static str,
    /// Name of the case.
    pub name: &'static str,
    /// True if proofs of programs, segments or roots do it, in about this shape; the others are for callers of the library.
    pub in_proofs: bool,
    /// Prepares about `2^log_size` elements.
    pub prepare: fn(&CommandStream, usize) -> Result<Prepared, MetalError>,
}

impl Case {
    /// `group/name`, what filters match.
    pub fn path(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }
}

/// Random extension elements on the device: a short random block, repeated.
pub fn random_ext(s: &CommandStream, n: usize) -> Result<MetalBuffer<EF>, MetalError> {
    repeated(s, &CheckRng::new(1).efs(n.min(1 << 12)), n)
}

/// Random base elements on the device: a short random block, repeated.
pub fn random_base(s: &CommandStream, n: usize) -> Result<MetalBuffer<F>, MetalError> {
    repeated(s, &CheckRng::new(2).fs(n.min(1 << 12)), n)
}

/// `n` elements that repeat `block`, copied on the device: the host never holds them all.
pub fn repeated<T: DeviceElem>(
    s: &CommandStream,
    block: &[T],
    n: usize,
) -> Result<MetalBuffer<T>, MetalError> {
    let mut buffer = MetalBuffer::uninit(s.context(), n)?;
    let mut filled = block.len();
    MemCopyH2D::copy_to(block, buffer.slice_mut(..filled), s)?;
    while filled < n {
        let more = filled.min(n - filled);
        let (source, mut rest) = buffer.split_at_mut(filled);
        MemCopyD2D::copy_to(&source.as_slice().slice(..more), rest.slice_mut(..more), s)?;
        filled += more;
    }
    Ok(buffer)
}
