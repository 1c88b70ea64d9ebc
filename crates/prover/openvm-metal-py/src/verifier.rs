//! `openvm_metal.Verifier` and `openvm_metal.Span`.

use std::sync::Arc;

use openvm_metal_sdk::{
    engine::MetalEngine,
    tasks::{Span, TaskVerifier},
};
use openvm_verify_stark_host::vk::VmStarkVerifyingKey;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::codec;
use crate::plan::PyPlan;
use crate::proof::{PyProof, PyVerifyingKey};
use crate::work;

/// The part of an execution that a proof is about.
#[pyclass(name = "Span", module = "openvm_metal", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PySpan(Span);

#[pymethods]
impl PySpan {
    fn joins(&self, next: &Self) -> bool {
        self.0.joins(&next.0)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// Verifies that a proof from another process is that of its task.
#[pyclass(name = "Verifier", module = "openvm_metal", frozen)]
pub struct PyVerifier(pub TaskVerifier<MetalEngine>);

#[pymethods]
impl PyVerifier {
    fn segment(
        &self,
        py: Python<'_>,
        plan: &PyPlan,
        index: usize,
        proof: PyBackedBytes,
    ) -> PyResult<PySpan> {
        let plan = &plan.0;
        work::run(py, |_| {
            let proof = codec::proof(&proof)?;
            self.0.segment(plan, index, &proof).map(PySpan)
        })
    }

    fn node(
        &self,
        py: Python<'_>,
        plan: &PyPlan,
        level: usize,
        index: usize,
        below: Vec<PyRef<'_, PySpan>>,
        proof: PyBackedBytes,
    ) -> PyResult<PySpan> {
        let plan = &plan.0;
        let below: Vec<Span> = below.iter().map(|span| span.0).collect();
        work::run(py, |_| {
            let proof = codec::proof(&proof)?;
            let span = self.0.node(plan, (level, index), &below, &proof)?;
            Ok(PySpan(span))
        })
    }

    fn end(
        &self,
        py: Python<'_>,
        plan: &PyPlan,
        last: &PySpan,
        values: PyBackedBytes,
    ) -> PyResult<()> {
        let plan = &plan.0;
        work::run(py, |_| self.0.end(plan, &last.0, &codec::values(&values)?))
    }

    fn assemble(
        &self,
        py: Python<'_>,
        last: PyBackedBytes,
        values: PyBackedBytes,
    ) -> PyResult<PyProof> {
        work::run(py, |_| {
            let (last, values) = (codec::proof(&last)?, codec::values(&values)?);
            self.0.assemble(last, values).map(PyProof)
        })
    }

    #[getter]
    fn verifying_key(&self) -> PyVerifyingKey {
        PyVerifyingKey(Arc::new(VmStarkVerifyingKey {
            mvk: (**self.0.verifying_key()).clone(),
            baseline: self.0.baseline().clone(),
        }))
    }
}
