//! Evaluation of tables at a point.

use openvm_metal_common::{CommandStream, MetalError, MetalSlice};

use super::{tensor_dot_base, tensor_dot_ext, tensor_factors, TensorWeights};
use crate::prelude::{EF, F};

/// `sum_y w(y) table[y]`: with [`TensorWeights::eq`] the value at a point of a multilinear polynomial
/// given by its evaluations, with [`TensorWeights::monomials`] by its coefficients, with
/// [`TensorWeights::powers`] that of a univariate one. Up to three dispatches, one wait, one read of the
/// table and one extension product per element.
///
/// # Errors
/// If the table is empty or has more than `2^vars` elements, or memory.
pub fn eval_ext_at(
    s: &CommandStream,
    table: &MetalSlice<'_, EF>,
    w: &TensorWeights,
) -> Result<EF, MetalError> {
    let factors = tensor_factors(s, w)?;
    Ok(tensor_dot_ext(s, &factors, table, 1)?.to_host(s)?[0])
}

/// As [`eval_ext_at`] for a base-field table: four base products per element.
///
/// # Errors
/// As [`eval_ext_at`].
pub fn eval_base_at(
    s: &CommandStream,
    table: &MetalSlice<'_, F>,
    w: &TensorWeights,
) -> Result<EF, MetalError> {
    let factors = tensor_factors(s, w)?;
    Ok(tensor_dot_base(s, &factors, table, 1)?.to_host(s)?[0])
}
