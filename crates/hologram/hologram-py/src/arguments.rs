//! Sizes as Python gives them, with errors that name the argument, its value and the limit.

use std::time::Duration;

use hologram_backends::Dim3;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::exception;

/// Most elements or bytes that anything has.
const MOST: usize = isize::MAX as usize;
/// Most blocks, or lanes of a block, along one side; how many there may be together is the launch's matter.
const MOST_ALONG: u32 = i32::MAX as u32;

/// A number of elements, rows or bytes.
///
/// # Errors
/// `TypeError` for what is no integer, `ArgumentError` for a negative one or one over 2^63 - 1.
pub fn size(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let found = integer(name, value)?.and_then(|value| usize::try_from(value).ok());
    found.filter(|&size| size <= MOST).ok_or_else(|| {
        let message = format!("{name}: {value}, must be 0 to {MOST}");
        exception("ArgumentError", message)
    })
}

/// Does the work of [`size`] for an argument that may be left out.
///
/// # Errors
/// Those of [`size`].
pub fn optional_size(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    value.map(|value| size(name, value)).transpose()
}

/// Seconds, of an argument that may be left out.
///
/// # Errors
/// `TypeError` for what is no number, `ArgumentError` for one that is not above 0, or beyond what clocks count.
pub fn optional_seconds(
    name: &str,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Duration>> {
    let Some(value) = value else { return Ok(None) };
    let seconds: f64 = value.extract()?;
    let found = Duration::try_from_secs_f64(seconds).ok();
    let found = found.filter(|limit| !limit.is_zero());
    found.map(Some).ok_or_else(|| {
        let message = format!("{name}: {value}, must be a number of seconds above 0");
        exception("ArgumentError", message)
    })
}

/// `None`, `x`, `(x,)`, `(x, y)` or `(x, y, z)`.
///
/// # Errors
/// `TypeError` for what is neither, `LaunchError` for other numbers of sizes and for sizes out of range.
pub fn dimensions(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Dim3> {
    let Some(value) = value else {
        return Ok(Dim3::default());
    };
    let Ok(sizes) = value.try_iter() else {
        return Ok(Dim3::linear(along(name, value)?));
    };
    let sizes: Vec<u32> = sizes
        .map(|size| along(name, &size?))
        .collect::<PyResult<_>>()?;
    match sizes[..] {
        [x] => Ok(Dim3::linear(x)),
        [x, y] => Ok(Dim3::new(x, y, 1)),
        [x, y, z] => Ok(Dim3::new(x, y, z)),
        _ => {
            let message = format!("{name}: {} sizes given, 1 to 3 are possible", sizes.len());
            Err(exception("LaunchError", message))
        }
    }
}

fn along(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    let found = integer(name, value)?.and_then(|value| u32::try_from(value).ok());
    found
        .filter(|&size| (1..=MOST_ALONG).contains(&size))
        .ok_or_else(|| {
            let message = format!("{name}: {value}, must be 1 to {MOST_ALONG}");
            exception("LaunchError", message)
        })
}

/// The value of an integer, `None` if it does not fit.
fn integer(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    // NumPy's integers too, but no floats.
    let index = value.call_method0("__index__").map_err(|_| {
        let kind = value.get_type();
        PyTypeError::new_err(format!("{name}: {value} of {kind} is no integer"))
    })?;
    Ok(index.extract().ok())
}
