//! `openvm_metal.Prover`.

use std::{path::PathBuf, sync::Arc};

use openvm_metal_common::Device;
use openvm_metal_sdk::{
    default_host_memory,
    parameters::{toy_aggregation, toy_app, TOY_AGGREGATION_LOG_HEIGHT, TOY_APP_LOG_HEIGHT},
    tasks::Plan,
    DeviceList, MetalSdk, ProveOptions, SdkError, DEFAULT_MAX_INSTRUCTIONS,
};
use openvm_sdk::config::AggregationTreeConfig;
use openvm_sdk_config::SdkVmConfig;
use openvm_verify_stark_host::vk::VmStarkVerifyingKey;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::codec;
use crate::errors::exception;
use crate::keys::PyKeys;
use crate::plan::PyPlan;
use crate::printed::{Printed, Stream};
use crate::program::{stdin, Input, PyProgram};
use crate::progress::Watcher;
use crate::proof::{PyProof, PyVerifyingKey};
use crate::security::min_security_bits;
use crate::verifier::PyVerifier;
use crate::work::{self, Stop};
use crate::worker::PySegmentWorker;

/// A program with its keys on a device.
#[pyclass(name = "Prover", module = "openvm_metal", frozen)]
pub struct PyProver {
    pub sdk: Arc<MetalSdk>,
    program: Py<PyProgram>,
}

/// Small parameters without security: whether, or the heights of stacked matrices as powers of two.
#[derive(FromPyObject)]
pub enum Toy {
    Default(bool),
    Heights(usize, usize),
}

impl Toy {
    fn heights(&self) -> PyResult<Option<(usize, usize)>> {
        match *self {
            Self::Default(false) => Ok(None),
            Self::Default(true) => Ok(Some((TOY_APP_LOG_HEIGHT, TOY_AGGREGATION_LOG_HEIGHT))),
            Self::Heights(app, aggregation) => {
                for height in [app, aggregation] {
                    if !(10..=24).contains(&height) {
                        let message =
                            format!("toy: a stacked height of 2^{height}, must be 2^10 to 2^24");
                        return Err(exception("ConfigError", message));
                    }
                }
                Ok(Some((app, aggregation)))
            }
        }
    }
}

/// One device, or several separated by commas.
fn devices(text: &str) -> PyResult<Vec<Device>> {
    let refused = |error: String| exception("DeviceUnavailableError", error);
    match text.parse::<Device>() {
        Ok(device) => Ok(vec![device]),
        Err(error) if !text.contains(',') => Err(refused(error.to_string())),
        Err(_) => match text.parse::<DeviceList>() {
            Ok(list) => Ok(list.resolve(|_| {})),
            Err(error) => Err(refused(error.to_string())),
        },
    }
}

fn options<'a>(
    max_instructions: Option<u64>,
    watcher: &'a Watcher<'_>,
    printed: &'a Printed<'_>,
    stop: &'a Stop,
) -> ProveOptions<'a> {
    ProveOptions::default()
        .with_max_instructions(max_instructions.unwrap_or(DEFAULT_MAX_INSTRUCTIONS))
        .with_progress(watcher)
        .with_output(printed)
        .with_cancel(&stop.flag)
}

#[pymethods]
impl PyProver {
    #[new]
    #[pyo3(signature = (program, keys = None, device = "auto", *, toy = Toy::Default(false), allow_insecure = false, segment_max_memory = None, children = None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "named arguments of a Python class"
    )]
    fn new(
        py: Python<'_>,
        program: Py<PyProgram>,
        keys: Option<Py<PyKeys>>,
        device: &str,
        toy: Toy,
        allow_insecure: bool,
        segment_max_memory: Option<usize>,
        children: Option<(usize, usize)>,
    ) -> PyResult<Self> {
        let devices = devices(device)?;
        let toy = toy.heights()?;
        if toy.is_some() && keys.is_some() {
            let message = "keys carry their parameters: give keys or toy";
            return Err(exception("ConfigError", message.into()));
        }
        let min_security_bits = min_security_bits(allow_insecure || toy.is_some());
        let (config, keys) = (program.get().config.as_deref(), keys.as_ref().map(Py::get));
        let sdk = work::run(py, move |_| {
            let mut builder = MetalSdk::builder(devices[0])
                .devices(devices)
                .min_security_bits(min_security_bits);
            builder = match (config, keys) {
                // Given keys bring their parameters; the configuration's are used only when keys are made.
                (Some(_), Some(_)) => builder.vm_config(PyProgram::vm_config(config)?),
                (Some(text), None) => builder.toml(text)?,
                (None, _) => builder.vm_config(SdkVmConfig::riscv32()),
            };
            if let Some((app, aggregation)) = toy {
                builder = builder
                    .app_params(toy_app(app))
                    .agg_params(toy_aggregation(aggregation));
            }
            if let Some(keys) = keys {
                builder = builder.app_pk((*keys.app).clone());
                if let Some(key) = &keys.aggregation {
                    builder = builder.agg_pk((**key).clone());
                }
            }
            if let Some(bytes) = segment_max_memory {
                builder = builder.segment_max_memory(bytes);
            }
            if let Some((leaf, internal)) = children {
                builder = builder.agg_tree_config(AggregationTreeConfig {
                    num_children_leaf: leaf,
                    num_children_internal: internal,
                });
            }
            builder.build()
        })?;
        Ok(Self {
            sdk: Arc::new(sdk),
            program,
        })
    }

    /// Opens the device, brings the keys to it and commits the program.
    fn warm_up(&self, py: Python<'_>) -> PyResult<()> {
        let exe = self.program.get().exe.clone();
        work::run(py, |_| {
            self.sdk.baseline(exe)?;
            Ok(())
        })
    }

    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        let devices = work::run(py, |_| self.sdk.devices())?;
        let names = devices.iter().map(Device::to_string);
        Ok(names.collect::<Vec<_>>().join(","))
    }

    #[getter]
    fn segment_max_memory(&self, py: Python<'_>) -> PyResult<usize> {
        work::run(py, |_| self.sdk.segment_max_memory())
    }

    #[getter]
    fn security_bits(&self, py: Python<'_>) -> PyResult<f64> {
        work::run(py, |_| self.sdk.check_security())
    }

    fn keys(&self, py: Python<'_>) -> PyResult<PyKeys> {
        work::run(py, |_| PyKeys::of(&self.sdk))
    }

    #[getter]
    fn verifying_key(&self, py: Python<'_>) -> PyResult<PyVerifyingKey> {
        let exe = self.program.get().exe.clone();
        work::run(py, |_| {
            Ok(PyVerifyingKey(Arc::new(VmStarkVerifyingKey {
                mvk: (*self.sdk.agg_vk()?).clone(),
                baseline: self.sdk.baseline(exe)?,
            })))
        })
    }

    #[pyo3(signature = (input = None, *, max_instructions = None, output = None))]
    fn execute<'py>(
        &self,
        py: Python<'py>,
        input: Option<Input>,
        max_instructions: Option<u64>,
        output: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (exe, input) = (self.program.get().exe.clone(), stdin(input));
        let revealed = work::run(py, |stop| {
            let watcher = Watcher {
                function: None,
                stop,
            };
            let printed = Printed {
                function: output.as_ref(),
                otherwise: Stream::Stdout,
                stop,
            };
            let options = options(max_instructions, &watcher, &printed, stop);
            self.sdk.execute(exe, input, &options)
        })?;
        Ok(PyBytes::new(py, &revealed))
    }

    #[pyo3(signature = (input = None, *, max_instructions = None, progress = None, output = None))]
    fn plan(
        &self,
        py: Python<'_>,
        input: Option<Input>,
        max_instructions: Option<u64>,
        progress: Option<Py<PyAny>>,
        output: Option<Py<PyAny>>,
    ) -> PyResult<PyPlan> {
        let (exe, input) = (self.program.get().exe.clone(), stdin(input));
        let function = progress.as_ref();
        let plan = work::run(py, |stop| {
            let watcher = Watcher { function, stop };
            let printed = Printed {
                function: output.as_ref(),
                // A cluster's command prints its events on standard output.
                otherwise: Stream::Stderr,
                stop,
            };
            let options = options(max_instructions, &watcher, &printed, stop);
            self.sdk.plan(exe, input, &options)
        })?;
        Ok(PyPlan(Arc::new(plan)))
    }

    #[pyo3(signature = (input = None, *, max_instructions = None, in_flight = None, host_memory = None, resume = None, progress = None, output = None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "named arguments of a Python method"
    )]
    fn prove<'py>(
        &self,
        py: Python<'py>,
        input: Option<Input>,
        max_instructions: Option<u64>,
        in_flight: Option<usize>,
        host_memory: Option<u64>,
        resume: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
        output: Option<Py<PyAny>>,
    ) -> PyResult<(PyProof, Bound<'py, PyDict>)> {
        let (exe, input) = (self.program.get().exe.clone(), stdin(input));
        let function = progress.as_ref();
        let proved = work::run(py, |stop| {
            let watcher = Watcher { function, stop };
            let printed = Printed {
                function: output.as_ref(),
                otherwise: Stream::Stdout,
                stop,
            };
            let mut options = options(max_instructions, &watcher, &printed, stop);
            options.in_flight = in_flight;
            options.host_memory = host_memory;
            if let Some(folder) = &resume {
                options = options.with_resume(folder);
            }
            self.sdk.prove(exe, input, &options)
        })?;
        let report = PyDict::new(py);
        let took = &proved.report;
        report.set_item("segments", took.segments)?;
        report.set_item("resumed", took.resumed)?;
        report.set_item("instructions", took.instructions)?;
        report.set_item("device", &took.device)?;
        report.set_item("seconds", took.total.as_secs_f64())?;
        report.set_item("security_bits", took.security_bits)?;
        Ok((PyProof(proved.proof), report))
    }

    #[pyo3(signature = (plan, input = None, *, machines = None, host_memory = None))]
    fn worker(
        &self,
        py: Python<'_>,
        plan: &PyPlan,
        input: Option<Input>,
        machines: Option<usize>,
        host_memory: Option<u64>,
    ) -> PyResult<PySegmentWorker> {
        let (exe, input, plan) = (self.program.get().exe.clone(), stdin(input), plan.0.clone());
        let mut worker = work::run(py, |_| self.sdk.segment_worker(exe, input, plan))?;
        if let Some(machines) = machines {
            worker = worker.with_machines(machines);
        }
        if let Some(bytes) = host_memory {
            worker = worker.with_host_memory(bytes);
        }
        Ok(PySegmentWorker::new(worker))
    }

    #[getter]
    fn host_memory(&self) -> u64 {
        default_host_memory()
    }

    #[pyo3(signature = (cores = None))]
    fn worker_threads(&self, py: Python<'_>, cores: Option<usize>) -> PyResult<(usize, usize)> {
        let threads = work::run(py, |_| self.sdk.worker_threads(cores))?;
        Ok((threads.machines, threads.in_flight))
    }

    fn prove_node<'py>(
        &self,
        py: Python<'py>,
        plan: &PyPlan,
        level: usize,
        index: usize,
        below: Vec<PyBackedBytes>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let plan: &Plan = &plan.0;
        let bytes = work::run(py, |_| {
            let below: Result<Vec<_>, SdkError> =
                below.iter().map(|bytes| codec::proof(bytes)).collect();
            let proof = self.sdk.prove_node(plan, level, index, &below?)?;
            codec::encode("a proof", &proof)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn verifier(&self, py: Python<'_>) -> PyResult<PyVerifier> {
        let exe = self.program.get().exe.clone();
        work::run(py, |_| self.sdk.task_verifier(exe)).map(PyVerifier)
    }
}
