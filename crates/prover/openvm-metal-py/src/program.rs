//! `openvm_metal.Program`.

use std::{path::PathBuf, sync::Arc};

use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_metal_sdk::{
    decode_elf, digest, executable_with, files, ignored_traps, ProgramSource, SdkError, Traps,
};
use openvm_sdk::StdIn;
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::OrRaise;
use crate::work;

/// The first bytes of an ELF.
const ELF: &[u8] = b"\x7fELF";

/// A program for the virtual machine, and the machine's configuration.
#[pyclass(name = "Program", module = "openvm_metal", frozen)]
pub struct PyProgram {
    pub exe: Arc<VmExe<F>>,
    pub config: Option<String>,
    name: String,
}

/// The values that a program reads: one, several, or none.
#[derive(FromPyObject)]
pub enum Input {
    One(PyBackedBytes),
    Many(Vec<PyBackedBytes>),
}

/// For the virtual machine.
pub fn stdin(input: Option<Input>) -> StdIn {
    let mut stdin = StdIn::default();
    match input {
        None => {}
        Some(Input::One(value)) => stdin.write_bytes(&value),
        Some(Input::Many(values)) => values.iter().for_each(|value| stdin.write_bytes(value)),
    }
    stdin
}

impl PyProgram {
    /// The configuration's extensions.
    pub fn vm_config(config: Option<&str>) -> Result<SdkVmConfig, SdkError> {
        let Some(text) = config else {
            return Ok(SdkVmConfig::riscv32());
        };
        Ok(files::config_from_text(text)?.config.app_vm_config)
    }

    fn new(
        bytes: &[u8],
        config: Option<String>,
        name: String,
        as_cargo_openvm: bool,
    ) -> Result<Self, SdkError> {
        let vm_config = Self::vm_config(config.as_deref())?;
        let source = if bytes.starts_with(ELF) {
            ProgramSource::from(decode_elf(bytes)?)
        } else if as_cargo_openvm {
            return Err(SdkError::Config(
                "as_cargo_openvm says how an executable is made of an ELF, and the program is an executable".into(),
            ));
        } else {
            files::exe_from_bytes(bytes)?.into()
        };
        let traps = match as_cargo_openvm {
            true => Traps::AsCargoOpenvm,
            false => Traps::End,
        };
        Ok(Self {
            exe: executable_with(&vm_config, source, traps)?,
            config,
            name,
        })
    }
}

/// Most bytes of an ELF or an executable.
const MAX_PROGRAM: u64 = 1 << 30;

/// A function and its arguments that make an equal object: what `pickle` stores.
type Pickled<'py, 'a> = (
    Bound<'py, PyAny>,
    (Bound<'py, PyBytes>, Option<&'a str>, &'a str),
);

#[pymethods]
impl PyProgram {
    #[new]
    #[pyo3(signature = (path, config = None, *, as_cargo_openvm = false))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        config: Option<PathBuf>,
        as_cargo_openvm: bool,
    ) -> PyResult<Self> {
        let bytes = files::read_bounded(&path, "a program", MAX_PROGRAM).or_raise()?;
        let config = match config {
            None => files::found_config(&path).or_raise()?,
            named => named,
        };
        let config = config.map(|path| files::read_config(&path)).transpose();
        let config = config.or_raise()?;
        let name = path.file_stem().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        work::run(py, move |_| {
            Self::new(&bytes, config, name, as_cargo_openvm)
        })
    }

    #[staticmethod]
    #[pyo3(signature = (data, config = None, name = "program", *, as_cargo_openvm = false))]
    fn from_bytes(
        py: Python<'_>,
        data: PyBackedBytes,
        config: Option<String>,
        name: &str,
        as_cargo_openvm: bool,
    ) -> PyResult<Self> {
        let name = name.to_owned();
        work::run(py, move |_| Self::new(&data, config, name, as_cargo_openvm))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = files::to_bytes("an executable", &*self.exe).or_raise()?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn config(&self) -> Option<&str> {
        self.config.as_deref()
    }

    #[getter]
    fn digest(&self) -> String {
        digest(&self.exe)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    #[getter]
    fn instructions(&self) -> usize {
        self.exe.program.num_defined_instructions()
    }

    #[getter]
    fn ignored_traps(&self) -> usize {
        ignored_traps(&self.exe)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py, '_>> {
        let make = py.get_type::<Self>().getattr("from_bytes")?;
        let arguments = (self.to_bytes(py)?, self.config.as_deref(), self.name());
        Ok((make, arguments))
    }

    fn __repr__(&self) -> String {
        format!(
            "Program({:?}, {} instructions, {})",
            self.name,
            self.instructions(),
            &self.digest()[..12]
        )
    }
}
