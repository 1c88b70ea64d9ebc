//! Element types of arrays: `hologram.array.dtypes` makes them, and says them here once.

use hologram_backends::Ty;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use crate::errors::exception;
use crate::names;

static ALL: PyOnceLock<Vec<Element>> = PyOnceLock::new();

/// Kind of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Truth.
    Bool,
    /// Unsigned integer.
    Uint,
    /// Signed integer.
    Int,
    /// Floating-point number.
    Float,
    /// Pair of them.
    Complex,
}

impl Kind {
    /// The kind called `name` in Python.
    ///
    /// # Errors
    /// None is.
    pub fn from_name(name: &str) -> PyResult<Self> {
        Ok(match name {
            "bool" => Self::Bool,
            "uint" => Self::Uint,
            "int" => Self::Int,
            "float" => Self::Float,
            "complex" => Self::Complex,
            _ => return Err(exception("ArgumentError", format!("no kind `{name}`"))),
        })
    }
}

/// One of `hologram.array.dtypes.ALL`; all are compared by their place.
pub struct Element {
    object: Py<PyAny>,
    /// Kind of the element.
    pub kind: Kind,
    /// Type of the buffer's elements.
    pub ty: Ty,
    /// Elements of the buffer for one of the array: 2 of complex numbers.
    pub lanes: usize,
}

impl Element {
    /// The type that an object of Python is.
    ///
    /// # Errors
    /// It is none.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<&'static Self> {
        let py = object.py();
        let found = all(py).iter().find(|known| known.object.is(object));
        found.ok_or_else(|| exception("DTypeError", format!("{object} is no element type")))
    }

    /// Type of truths.
    ///
    /// # Errors
    /// The types are not known yet.
    pub fn truth(py: Python<'_>) -> PyResult<&'static Self> {
        let found = all(py).iter().find(|known| known.kind == Kind::Bool);
        found.ok_or_else(|| exception("DTypeError", "no type of truths".into()))
    }

    /// Python's object for it.
    pub fn object(&self, py: Python<'_>) -> Py<PyAny> {
        self.object.clone_ref(py)
    }

    /// Bytes of an element.
    pub fn size(&self) -> usize {
        self.ty.size() * self.lanes
    }

    /// True if it has 16 bits: calculated in float32.
    pub fn is_half(&self) -> bool {
        matches!(self.ty, Ty::F16 | Ty::Bf16)
    }

    /// True if both are the same type.
    pub fn same(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

fn all(py: Python<'_>) -> &'static [Element] {
    ALL.get(py).map_or(&[], Vec::as_slice)
}

/// Says which types there are, once.
#[pyfunction]
#[pyo3(signature = (types, /))]
pub fn set_element_types(py: Python<'_>, types: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
    let text = |object: &Bound<'_, PyAny>, name: &str| -> PyResult<String> {
        let found = object.getattr(name)?.cast_into::<PyString>()?;
        Ok(found.to_string_lossy().into_owned())
    };
    let made = types.into_iter().map(|object| {
        let buffer = text(&object, "buffer")?;
        let ty = names::find(&buffer)
            .ok_or_else(|| exception("DTypeError", format!("`{buffer}` is no element type")))?;
        Ok(Element {
            kind: Kind::from_name(&text(&object, "kind")?)?,
            ty,
            lanes: object.getattr("lanes")?.extract()?,
            object: object.unbind(),
        })
    });
    let made = made.collect::<PyResult<Vec<_>>>()?;
    ALL.set(py, made)
        .map_err(|_| exception("ArgumentError", "the element types are known".into()))
}
