//! `openvm_metal.Plan`.

use std::sync::Arc;

use openvm_metal_sdk::tasks::{Plan, Task};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{exception, OrRaise};

/// Segments of an execution, and the proofs to make.
#[pyclass(name = "Plan", module = "openvm_metal", frozen)]
pub struct PyPlan(pub Arc<Plan>);

/// A task: level and index. Segments are level 0, the public values level -1.
pub type TaskName = (i64, usize);

/// The task of a level and index.
pub fn task((level, index): TaskName) -> PyResult<Task> {
    match (usize::try_from(level), index) {
        (Ok(0), index) => Ok(Task::Segment(index)),
        (Ok(level), index) => Ok(Task::Node { level, index }),
        (Err(_), 0) if level == -1 => Ok(Task::End),
        _ => Err(exception(
            "PlanError",
            format!("({level}, {index}) is no task: levels are -1 (public values, index 0), 0 (segments), 1 (leaves) and up"),
        )),
    }
}

#[pymethods]
impl PyPlan {
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Plan::from_json(text).map(Arc::new).map(Self).or_raise()
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    #[getter]
    fn job(&self) -> String {
        self.0.job().to_string()
    }

    /// Instructions of each segment.
    #[getter]
    fn segments(&self) -> Vec<u64> {
        self.0.segments().iter().map(|s| s.num_insns).collect()
    }

    #[getter]
    fn instructions(&self) -> u64 {
        self.0.instructions()
    }

    #[getter]
    fn levels(&self) -> Vec<usize> {
        self.0.levels()
    }

    #[getter]
    fn public_values<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.public_values())
    }

    #[getter]
    fn segment_max_memory(&self) -> usize {
        self.0.segment_max_memory()
    }

    #[getter]
    fn children(&self) -> (usize, usize) {
        self.0.children()
    }

    fn below(&self, level: usize, index: usize) -> PyResult<Vec<usize>> {
        self.0.below(level, index).map(Iterator::collect).or_raise()
    }

    fn id(&self, task: TaskName) -> PyResult<String> {
        let id = self.0.id(self::task(task)?).or_raise()?;
        Ok(id.to_string())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let make = py.get_type::<Self>().getattr("from_json")?;
        Ok((make, (self.to_json(),)))
    }

    fn __repr__(&self) -> String {
        format!(
            "Plan({} segments, {} instructions, job {})",
            self.0.segments().len(),
            self.0.instructions(),
            &self.job()[..12]
        )
    }
}
