//! `openvm_metal.JobFolder`.

use std::{path::PathBuf, sync::Arc};

use openvm_metal_sdk::tasks::{JobFolder, Plan};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::OrRaise;
use crate::plan::{task as task_of, PyPlan, TaskName};
use crate::verifier::PyVerifier;

/// Finished tasks of one plan in files.
#[pyclass(name = "JobFolder", module = "openvm_metal", frozen)]
pub struct PyJobFolder {
    folder: JobFolder,
    plan: Arc<Plan>,
}

#[pymethods]
impl PyJobFolder {
    #[new]
    fn new(path: PathBuf, plan: &PyPlan) -> PyResult<Self> {
        Ok(Self {
            folder: JobFolder::open(&path, &plan.0).or_raise()?,
            plan: plan.0.clone(),
        })
    }

    fn load<'py>(&self, py: Python<'py>, task: TaskName) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let task = task_of(task)?;
        let found = py.detach(|| self.folder.load(&self.plan, task));
        Ok(found.or_raise()?.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn store(&self, py: Python<'_>, task: TaskName, proof: PyBackedBytes) -> PyResult<()> {
        let task = task_of(task)?;
        py.detach(|| self.folder.store(&self.plan, task, &proof))
            .or_raise()
    }

    fn load_node<'py>(
        &self,
        py: Python<'py>,
        verifier: &PyVerifier,
        level: usize,
        index: usize,
        below: Vec<PyBackedBytes>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.plan.below(level, index).or_raise()?;
        let verifier = &verifier.0;
        let found = py.detach(|| self.folder.load_node(verifier, (level, index), &below));
        Ok(found.or_raise()?.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn store_node(
        &self,
        py: Python<'_>,
        verifier: &PyVerifier,
        level: usize,
        index: usize,
        below: Vec<PyBackedBytes>,
        proof: PyBackedBytes,
    ) -> PyResult<()> {
        self.plan.below(level, index).or_raise()?;
        let verifier = &verifier.0;
        py.detach(|| {
            self.folder
                .store_node(verifier, (level, index), &below, &proof)
        })
        .or_raise()
    }

    fn set_aside(
        &self,
        py: Python<'_>,
        level: i64,
        index: usize,
        reason: &str,
    ) -> PyResult<String> {
        let task = task_of((level, index))?;
        let path = py.detach(|| self.folder.set_aside(&self.plan, task, reason));
        Ok(path.or_raise()?.to_string_lossy().into_owned())
    }
}
