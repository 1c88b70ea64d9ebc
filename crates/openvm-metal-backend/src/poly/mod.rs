//! Multilinear and univariate building blocks: tensor tables (eq, Moebius-eq, monomials, powers),
//! reductions, prefix sums, folds and subset-sum transforms of extension-field tables.
//!
//! A table over the hypercube has bit `i` of its index for variable `i`. Nothing here waits for the
//! device except the functions that return field elements.

mod eval;
mod fold;
mod reduce;
mod scan;
mod tensor;
mod weights;
mod zeta;

#[cfg(test)]
mod tests;

pub use eval::{eval_base_at, eval_ext_at};
pub use fold::{fold_ext, fold_ext_into};
pub use reduce::{dot_base, dot_ext, sum_ext, tensor_dot_base, tensor_dot_ext};
pub use scan::prefix_sums;
pub use tensor::{
    eq_table, eq_table_into, mobius_eq_table, powers_table, tensor_factors, tensor_table,
    tensor_table_into, TensorFactors,
};
pub use weights::TensorWeights;
pub use zeta::{chunk_transform, coeffs_to_evals, evals_to_coeffs, hat_evals};

use openvm_metal_common::{DeviceProfile, Execution, MetalError};

/// Threads of the threadgroups of all kernels with barriers here.
pub(crate) const GROUP_THREADS: u32 = 256;

/// A typed error for an argument that a kernel of this module cannot take.
pub(crate) fn unfit(
    kernel: &'static str,
    argument: &'static str,
    expected: impl Into<String>,
    actual: impl Into<String>,
) -> MetalError {
    MetalError::ArgumentMismatch {
        kernel,
        argument,
        expected: expected.into(),
        actual: actual.into(),
    }
}

/// Log of a length that must be a power of two.
pub(crate) fn log2_exact(
    kernel: &'static str,
    argument: &'static str,
    len: usize,
) -> Result<usize, MetalError> {
    if len.is_power_of_two() {
        Ok(len.trailing_zeros() as usize)
    } else {
        Err(unfit(
            kernel,
            argument,
            "a power of two of elements",
            len.to_string(),
        ))
    }
}

/// Threadgroups that keep a device busy in a reduction.
pub(crate) fn busy_groups(profile: &DeviceProfile) -> usize {
    match profile.execution {
        Execution::MultiCore => 4 * profile.cores.max(1) as usize,
        Execution::ManyCore => {
            (profile.threads_in_flight() as usize).div_ceil(GROUP_THREADS as usize)
        }
    }
}
