//! Translated programs compiled for a device.

use std::path::PathBuf;

use openvm_metal_builder::Toolchain;
use openvm_metal_common::kernel::ArgKind;
use openvm_metal_common::{DeviceKind, RuntimeArg, RuntimeKernel, RuntimeSource, RuntimeSymbols};

use crate::backend::error::{BackendError, Result};
use crate::translate::{self, Plan};

/// Buffer index of the arena that holds all buffers and pools.
pub const ARENA: u8 = 0;
/// Index of the parameters.
pub const PARAMETERS: u8 = 1;
/// Buffer index of the fault records.
pub const FAULTS: u8 = 2;
/// Buffer index of the table of handles.
pub const TABLE: u8 = 3;

/// How much work compilers put into kernels for CPU and CUDA devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// For programs that run once: compiled several times sooner.
    Least,
    /// For programs that run often.
    #[default]
    Usual,
}

/// Compiles units; without a compiler on this machine only Metal devices can be served.
#[derive(Debug)]
pub struct UnitCompiler {
    kind: DeviceKind,
    scratch: PathBuf,
    tools: std::result::Result<Toolchain, String>,
}

impl UnitCompiler {
    /// A compiler for a kind of device; files are kept in `scratch` and used again.
    pub fn new(kind: DeviceKind, scratch: PathBuf, effort: Effort) -> Self {
        let level = match effort {
            Effort::Least => "-O0",
            Effort::Usual => "-O1",
        };
        let tools = match kind {
            DeviceKind::Metal => Err("Metal devices compile the text themselves".into()),
            _ => Toolchain::new(&scratch)
                .map(|tools| tools.with_options(&["-ffp-contract=off", level]))
                .map_err(|error| error.to_string()),
        };
        Self {
            kind,
            scratch,
            tools,
        }
    }

    /// The device's kind.
    pub fn kind(&self) -> DeviceKind {
        self.kind
    }

    /// Whether units can be compiled.
    ///
    /// # Errors
    /// [`BackendError::Compilation`] that says why not.
    pub fn check(&self) -> Result<()> {
        match (&self.tools, self.kind) {
            (_, DeviceKind::Metal) | (Ok(_), _) => Ok(()),
            (Err(message), _) => Err(BackendError::Compilation(message.clone())),
        }
    }

    /// A loadable unit with one kernel for each name and plan.
    ///
    /// # Errors
    /// [`BackendError::Compilation`]: no compiler, or its message.
    pub fn compile(&self, name: &str, kernels: &[(&str, &Plan)]) -> Result<RuntimeSource> {
        self.check()?;
        let text = translate::unit(kernels.iter().copied());
        let mut source = RuntimeSource {
            name: name.into(),
            kernels: kernels
                .iter()
                .map(|(name, plan)| describe(name, plan))
                .collect(),
            ..RuntimeSource::default()
        };
        let failed = |error: openvm_metal_builder::BuildError| {
            BackendError::Compilation(format!("{name}: {error}"))
        };
        match (&self.tools, self.kind) {
            (Ok(tools), DeviceKind::Cuda) => {
                source.ptx = Some(tools.compile_ptx(&self.scratch, &text).map_err(failed)?);
            }
            (Ok(tools), DeviceKind::Cpu) => {
                let library = tools
                    .compile_cpu_shared(&self.scratch, &text)
                    .map_err(failed)?;
                for kernel in &mut source.kernels {
                    let found = library.kernels.iter().find(|k| k.name == kernel.name);
                    kernel.cpu = found.map(|k| RuntimeSymbols {
                        run: k.scalar.clone(),
                        fiber: k.fiber.clone(),
                    });
                }
                source.cpu = Some(library.path);
            }
            _ => source.msl = text,
        }
        Ok(source)
    }
}

/// The kernel of a plan as the run time sees it, without native code.
pub fn describe(name: &str, plan: &Plan) -> RuntimeKernel {
    let arg = |name: &str, index, kind| RuntimeArg {
        name: name.into(),
        index,
        kind,
    };
    let size = 8 * plan.slots.len() as u32;
    let mut args = vec![
        arg("arena", ARENA, ArgKind::BufferWrite { elem: 1 }),
        arg("parameters", PARAMETERS, ArgKind::Value { size }),
        arg("faults", FAULTS, ArgKind::BufferWrite { elem: 4 }),
        arg("table", TABLE, ArgKind::BufferRead { elem: 8 }),
    ];
    if plan.cooperative {
        args.push(arg("shared", 0, ArgKind::Threadgroup { elem: 1 }));
    }
    RuntimeKernel {
        name: name.into(),
        args,
        barriers: plan.cooperative,
        max_threads: 1024,
        ptx_entry: format!("msl_{name}"),
        cpu: None,
    }
}
