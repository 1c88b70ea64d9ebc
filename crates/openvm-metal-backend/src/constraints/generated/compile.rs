//! Units of rules compiled for a device.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openvm_metal_builder::{BuildError, Toolchain, PTX_ABI};
use openvm_metal_common::{
    kernel::ArgKind, DeviceKind, RuntimeArg, RuntimeKernel, RuntimeSource, RuntimeSymbols,
};

use super::text::{self, MAX_THREADS};
use crate::params::RuleParams;

/// Name of the units in messages.
pub const UNIT: &str = "constraints/rules";

/// Compiles units; files are kept in a folder and used again.
#[derive(Clone, Debug)]
pub struct Compiler {
    kind: DeviceKind,
    folder: PathBuf,
}

impl Compiler {
    /// For a kind of device.
    pub fn new(kind: DeviceKind, folder: PathBuf) -> Self {
        Self { kind, folder }
    }

    /// A loadable unit of a text with so many kernels for this kind of device, or why there is none.
    ///
    /// # Errors
    /// That there is no compiler on this machine and no file in the folder, or the compiler's words.
    pub fn compile(&self, text: &str, kernels: usize) -> Result<RuntimeSource, String> {
        let mut source = RuntimeSource {
            name: UNIT.into(),
            slices: true,
            kernels: (0..kernels).map(describe).collect(),
            ..RuntimeSource::default()
        };
        match self.kind {
            DeviceKind::Metal => source.msl = text.to_owned(),
            DeviceKind::Cuda => source.ptx = Some(self.ptx(text)?),
            DeviceKind::Cpu => self.native(text, &mut source)?,
        }
        Ok(source)
    }

    /// Whether PTX of this text was kept.
    pub fn has(&self, text: &str) -> bool {
        self.kept(text).is_file()
    }

    fn kept(&self, text: &str) -> PathBuf {
        self.folder.join(format!("{}.ptx", key(text)))
    }

    fn tools(&self) -> Result<Toolchain, BuildError> {
        Toolchain::new(self.folder.join("scratch"))
    }

    /// PTX of a unit, from the folder if it was compiled before, here or elsewhere.
    fn ptx(&self, text: &str) -> Result<String, String> {
        let path = self.kept(text);
        if let Ok(ptx) = fs::read_to_string(&path) {
            return Ok(ptx);
        }
        let ptx = self
            .tools()
            .and_then(|tools| tools.compile_ptx(&self.folder, text))
            .map_err(|error| format!("{error}; nor is there {}", path.display()))?;
        keep(&path, &ptx);
        Ok(ptx)
    }

    fn native(&self, text: &str, source: &mut RuntimeSource) -> Result<(), String> {
        let library = self
            .tools()
            .and_then(|tools| tools.compile_cpu_shared(&self.folder, text))
            .map_err(|error| error.to_string())?;
        for kernel in &mut source.kernels {
            let found = library.kernels.iter().find(|k| k.name == kernel.name);
            kernel.cpu = found.map(|k| RuntimeSymbols {
                run: k.run.clone(),
                fiber: None,
            });
        }
        source.cpu = Some(library.path);
        Ok(())
    }
}

/// Whole or not there, whoever else writes it. A folder that cannot be written is no error.
fn keep(path: &Path, text: &str) {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    if fs::write(&part, text).is_ok() {
        let _ = fs::rename(&part, path);
    }
}

/// 128 bits that differ for different texts (FNV-1a from two starts).
pub fn key(text: &str) -> String {
    let mut state = [0xcbf2_9ce4_8422_2325u64, 0x6c62_272e_07bb_0142];
    let version = PTX_ABI.to_string();
    for byte in text.bytes().chain([0]).chain(version.bytes()) {
        for word in &mut state {
            *word = (*word ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        state[1] = state[1].rotate_left(5);
    }
    format!("{:016x}{:016x}", state[0], state[1])
}

/// A kernel of rules as the run time sees it, without native code.
fn describe(part: usize) -> RuntimeKernel {
    let arg = |name: &str, index, kind| RuntimeArg {
        name: name.into(),
        index,
        kind,
    };
    let read = |elem| ArgKind::BufferRead { elem };
    let name = text::kernel_name(part);
    RuntimeKernel {
        args: vec![
            arg("arena", 0, read(4)),
            arg("partials", 1, ArgKind::BufferWrite { elem: 4 }),
            arg("coefficients", 2, read(16)),
            arg("uniforms", 3, read(4)),
            arg("runs", 4, read(4)),
            arg("operands", 5, read(4)),
            arg(
                "p",
                6,
                ArgKind::Value {
                    size: size_of::<RuleParams>() as u32,
                },
            ),
        ],
        barriers: false,
        max_threads: MAX_THREADS,
        ptx_entry: format!("msl_{name}"),
        cpu: None,
        name,
    }
}
