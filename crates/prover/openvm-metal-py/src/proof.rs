//! `openvm_metal.Proof` and `openvm_metal.VerifyingKey`.

use std::{path::PathBuf, sync::Arc};

use openvm_continuations::CommitBytes;
use openvm_metal_sdk::{app_vm_commit, decode_stark_proof, files, public_values, verify, SdkError};
use openvm_sdk::types::AppExecutionCommit;
use openvm_verify_stark_host::{vk::VmStarkVerifyingKey, VmStarkProof};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::codec::encode;
use crate::errors::OrRaise;
use crate::security::min_security_bits;
use crate::work;

/// One proof of a whole execution.
#[pyclass(name = "Proof", module = "openvm_metal", frozen)]
pub struct PyProof(pub VmStarkProof);

/// Verifying key of a program's proofs.
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
            let proof = decode_stark_proof(&data);
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
    fn public_values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &public_values(&self.0).or_raise()?))
    }

    #[pyo3(signature = (vk, *, allow_insecure = false))]
    fn verify(&self, py: Python<'_>, vk: &PyVerifyingKey, allow_insecure: bool) -> PyResult<()> {
        let bits = min_security_bits(allow_insecure);
        work::run(py, |_| {
            verify(&vk.0.mvk, &vk.0.baseline, &self.0, bits).map(drop)
        })
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
    #[pyo3(signature = (path, *, trust_vk = false))]
    fn load(py: Python<'_>, path: PathBuf, trust_vk: bool) -> PyResult<Self> {
        work::run(py, move |_| {
            if !trust_vk {
                return Err(SdkError::Key {
                    what: "a verifying key from a file",
                    reason: "of unknown origin, it can be the key of any circuit: take \
                             Prover(program).verifying_key, or give trust_vk=True if the file is yours"
                        .into(),
                });
            }
            files::read_stark_vk(&path).map(|vk| Self(Arc::new(vk)))
        })
    }

    #[getter]
    fn app_exe_commit(&self) -> String {
        CommitBytes::from(self.0.baseline.app_exe_commit).to_string()
    }

    #[getter]
    fn app_vm_commit(&self) -> String {
        app_vm_commit(&self.0.baseline).to_string()
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        work::run(py, |_| files::write_stark_vk(&path, &self.0))
    }

    fn save_commit(&self, py: Python<'_>, path: PathBuf, security_bits: f64) -> PyResult<()> {
        let commit = AppExecutionCommit {
            app_exe_commit: self.0.baseline.app_exe_commit.into(),
            app_vm_commit: app_vm_commit(&self.0.baseline),
        };
        work::run(py, |_| {
            files::write_commit_with_security(&path, &commit, security_bits)
        })
    }

    fn save_baseline(&self, py: Python<'_>, path: PathBuf, security_bits: f64) -> PyResult<()> {
        work::run(py, |_| {
            files::write_baseline_with_security(&path, &self.0.baseline, security_bits)
        })
    }
}
