//! Values of a program's input from JSON.

use openvm_metal_sdk::{files, SdkError};
use openvm_stark_backend::p3_field::PrimeField32;
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

/// The values of `{"input": [VALUES]}`, in hexadecimal or with types of Rust.
#[pyfunction]
pub fn values_from_json<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let input = files::input_from_json(data).map_err(|error| match error {
        SdkError::Bytes { reason, .. } => PyValueError::new_err(reason),
        other => PyValueError::new_err(other.to_string()),
    })?;
    let bytes = |value: Vec<_>| -> Vec<u8> {
        let field = value.into_iter();
        field
            .map(|byte| PrimeField32::as_canonical_u32(&byte) as u8)
            .collect()
    };
    let values = input.buffer.into_iter().map(bytes);
    Ok(values.map(|value| PyBytes::new(py, &value)).collect())
}
