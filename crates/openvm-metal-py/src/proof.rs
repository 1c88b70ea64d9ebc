//! `openvm_metal.Proof` and `openvm_metal.VerifyingKey`.

use std::{path::PathBuf, sync::Arc};

use openvm_metal_sdk::{files, public_values, verify, SdkError};
use openvm_stark_backend::codec::Decode;
use openvm_verify_stark_host::{
    vk::{read_vk_from_file, write_vk_to_file, VmStarkVerifyingKey},
    VmStarkProof,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::codec::encode;
use crate::errors::{exception, OrRaise};
use crate::work;

/// One proof of a whole execution.
#[pyclass(name = "Proof", module = "openvm_metal", frozen)]
pub struct PyProof(pub VmStarkProof);

/// What verifies the proofs of a program.
#[pyclass(name = "VerifyingKey", module = "openvm_metal", frozen)]
pub struct PyVerifyingKey(pub Arc<VmStarkVerifyingKey>);

#[pymethods]
impl PyProof {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        work::run(py, move |_| files::read_proof(&path).map(Self))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        work::run(py, |_| files::write_proof(&path, &self.0))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: PyBackedBytes) -> PyResult<Self> {
        work::run(py, |_| {
            let proof = VmStarkProof::decode_from_bytes(&data);
            proof.map(Self).map_err(|error| SdkError::Bytes {
                what: "a proof",
                reason: error.to_string(),
            })
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = encode("a proof", &self.0).or_raise()?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn public_values<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &public_values(&self.0))
    }

    fn verify(&self, py: Python<'_>, vk: &PyVerifyingKey) -> PyResult<()> {
        work::run(py, |_| verify(&vk.0.mvk, &vk.0.baseline, &self.0))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((make, (self.to_bytes(py)?,)))
    }
}

#[pymethods]
impl PyVerifyingKey {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = py.detach(|| read_vk_from_file(&path));
        read.map(|vk| Self(Arc::new(vk))).map_err(|error| {
            let message = format!(
                "{}: not usable as a verifying key: {}",
                path.display(),
                error.root_cause()
            );
            exception("FileError", message)
        })
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = py.detach(|| write_vk_to_file(&path, &self.0));
        written.map_err(|error| exception("FileError", format!("{}: {error}", path.display())))
    }
}
