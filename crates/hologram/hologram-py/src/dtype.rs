//! Element types by their NumPy names, and numbers as bits.

use half::{bf16, f16};
use hologram_backends::Ty;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyString};
use pyo3::IntoPyObjectExt;

use crate::errors::exception;
use crate::names::{self, name};

/// The module `numpy`.
pub fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?;
    Ok(module.bind(py))
}

/// The type that a name, a NumPy type or dtype means.
pub fn parse(dtype: &Bound<'_, PyAny>) -> PyResult<Ty> {
    let py = dtype.py();
    if let Ok(text) = dtype.cast::<PyString>() {
        if let Some(ty) = names::find(&text.to_string_lossy()) {
            return Ok(ty);
        }
    }
    let unknown = |_| exception("DTypeError", format!("{dtype} is not an element type"));
    let dtype = numpy(py)?.call_method1("dtype", (dtype,));
    let dtype = dtype.map_err(unknown)?;
    let text: String = dtype.getattr("name")?.extract()?;
    if !dtype.getattr("isnative")?.is_truthy()? {
        let message = format!("dtype: {text} of foreign byte order; convert it with `astype`");
        return Err(exception("DTypeError", message));
    }
    names::find(&text).ok_or_else(|| {
        let message = format!("dtype: `{text}` is none of {}", names::all().join(", "));
        exception("DTypeError", message)
    })
}

/// The NumPy dtype of a type; bfloat16 needs `ml_dtypes`, and is its name where that is missing.
pub fn to_numpy(py: Python<'_>, ty: Ty) -> PyResult<Bound<'_, PyAny>> {
    if ty == Ty::Bf16 {
        return match py.import("ml_dtypes") {
            Ok(module) => numpy(py)?.call_method1("dtype", (module.getattr("bfloat16")?,)),
            Err(_) => name(ty).into_bound_py_any(py),
        };
    }
    numpy(py)?.call_method1("dtype", (name(ty),))
}

/// The NumPy dtype of a type whose elements become an array.
///
/// # Errors
/// `DTypeError`: bfloat16 without `ml_dtypes`.
pub fn of_array(py: Python<'_>, ty: Ty) -> PyResult<Bound<'_, PyAny>> {
    let dtype = to_numpy(py, ty)?;
    if dtype.is_instance_of::<PyString>() {
        let message = "dtype: NumPy has bfloat16 only with the package `ml_dtypes`; install it, or convert with `astype(\"float32\")`";
        return Err(exception("DTypeError", message.into()));
    }
    Ok(dtype)
}

/// A number as the bits of an element; integers must fit, floats are rounded to the nearest.
pub fn to_bits(ty: Ty, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let float = || value.extract::<f64>();
    Ok(match ty {
        Ty::F16 => u64::from(f16::from_f32(to_odd(float()?)).to_bits()),
        Ty::Bf16 => u64::from(bf16::from_f32(to_odd(float()?)).to_bits()),
        Ty::F32 => u64::from((float()? as f32).to_bits()),
        Ty::F64 => float()?.to_bits(),
        _ if ty.is_signed_int() => {
            let number: i64 = value.extract()?;
            let shift = 64 - ty.bits();
            if number << shift >> shift != number {
                return Err(overflow(ty, value));
            }
            number as u64 & ty.mask()
        }
        _ => {
            let number: u64 = value.extract().map_err(|error| {
                // A negative number is out of range; anything else is of the wrong type.
                if value.lt(0).unwrap_or(false) {
                    overflow(ty, value)
                } else {
                    error
                }
            })?;
            if number & !ty.mask() != 0 {
                return Err(overflow(ty, value));
            }
            number
        }
    })
}

/// A float32 next to a number, one that ends in a set bit where it is not the number: rounded to 16 bits it gives what the number does.
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    if back == x || x.is_nan() {
        return near;
    }
    let larger = back.abs() > x.abs();
    f32::from_bits((near.to_bits() - u32::from(larger)) | 1)
}

fn overflow(ty: Ty, value: &Bound<'_, PyAny>) -> PyErr {
    PyOverflowError::new_err(format!("{value} does not fit in {}", name(ty)))
}

/// The bits of an element as a Python number.
pub fn from_bits(py: Python<'_>, ty: Ty, bits: u64) -> PyResult<Py<PyAny>> {
    match ty {
        Ty::F16 => f16::from_bits(bits as u16).to_f64().into_py_any(py),
        Ty::Bf16 => bf16::from_bits(bits as u16).to_f64().into_py_any(py),
        Ty::F32 => f32::from_bits(bits as u32).into_py_any(py),
        Ty::F64 => f64::from_bits(bits).into_py_any(py),
        _ if ty.is_signed_int() => {
            let shift = 64 - ty.bits();
            ((bits << shift) as i64 >> shift).into_py_any(py)
        }
        _ => bits.into_py_any(py),
    }
}
