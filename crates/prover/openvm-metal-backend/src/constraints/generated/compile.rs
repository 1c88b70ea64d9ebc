//! Units of rules compiled for a device.

use std::{fs, path::PathBuf};

use openvm_metal_builder::{hash, native_abi, BuildError, Toolchain, PTX_ABI};
use openvm_metal_common::{
    kernel::ArgKind, DeviceKind, RuntimeArg, RuntimeKernel, RuntimeSource, RuntimeSymbols,
    TrustedFolder, UntrustedPath,
};

use super::text::{self, MAX_THREADS};
use crate::params::RuleParams;

/// Name of the units in messages.
pub const UNIT: &str = "constraints/rules";

/// Compiles units; files are kept in a folder and used again. Files that other users could have written are not used.
#[derive(Clone, Debug)]
pub struct Compiler {
    kind: DeviceKind,
    folder: TrustedFolder,
}

impl Compiler {
    /// For a kind of device.
    pub fn new(kind: DeviceKind, folder: TrustedFolder) -> Self {
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

    /// True if code of this source was kept: PTX, or a library of this processor.
    pub fn has(&self, text: &str) -> bool {
        match self.kind {
            DeviceKind::Metal => false,
            DeviceKind::Cuda => used(self.folder.file(&ptx_file(text))).is_some(),
            DeviceKind::Cpu => self.kept_library(text).is_some(),
        }
    }

    fn tools(&self) -> Result<Toolchain, String> {
        let scratch = self.folder.subfolder("scratch");
        let scratch = scratch.map_err(|error| error.to_string())?;
        Toolchain::new(scratch.path()).map_err(|error| error.to_string())
    }

    /// The end of an error's message: the file that would have done.
    fn nor(&self, file: &str) -> String {
        format!("nor is there {}", self.folder.path().join(file).display())
    }

    /// Keeps a file. If writing fails, the text is compiled again next time.
    fn keep(&self, file: &str, content: &[u8]) -> bool {
        let written = self.folder.write(file, content);
        if let Err(error) = &written {
            tracing::debug!(%error, file, "a kernel is not kept");
        }
        written.is_ok()
    }

    /// PTX of a unit, from the folder if it was compiled before, here or elsewhere.
    fn ptx(&self, text: &str) -> Result<String, String> {
        let file = ptx_file(text);
        if let Some(ptx) = used(self.folder.read_text(&file)) {
            return Ok(ptx);
        }
        let compile = |tools: Toolchain| {
            let ptx = tools.compile_ptx(self.folder.path(), text);
            ptx.map_err(|error| error.to_string())
        };
        let ptx = self.tools().and_then(compile);
        let ptx = ptx.map_err(|error| format!("{error}; {}", self.nor(&file)))?;
        self.keep(&file, ptx.as_bytes());
        Ok(ptx)
    }

    /// Native code of a unit, from the folder if it was compiled before for these instructions, here or elsewhere.
    fn native(&self, text: &str, source: &mut RuntimeSource) -> Result<(), String> {
        let library = match self.kept_library(text) {
            Some(library) => library,
            None => self.compile_library(text)?,
        };
        for kernel in &mut source.kernels {
            let mut symbols = library.symbols.iter();
            kernel.cpu = symbols
                .find(|(name, _)| *name == kernel.name)
                .map(|(_, run)| RuntimeSymbols {
                    run: run.clone(),
                    fiber: None,
                });
        }
        source.cpu = Some(library.path);
        Ok(())
    }

    fn kept_library(&self, text: &str) -> Option<Library> {
        let [library, symbols] = library_files(text).ok()?;
        let symbols = used(self.folder.read_text(&symbols))?;
        let pair = |line: &str| {
            let (name, symbol) = line.split_once(' ')?;
            Some((name.to_owned(), symbol.to_owned()))
        };
        let symbols = symbols.lines().map(pair).collect::<Option<_>>()?;
        let path = used(self.folder.file(&library))?;
        Some(Library { path, symbols })
    }

    fn compile_library(&self, text: &str) -> Result<Library, String> {
        let failed = |error: BuildError| error.to_string();
        let [file, symbols] = library_files(text).map_err(failed)?;
        let compile = |tools: Toolchain| {
            let made = tools.compile_cpu_shared(self.folder.path(), text);
            made.map_err(failed)
        };
        let made = self.tools().and_then(compile);
        let made = made.map_err(|error| format!("{error}; {}", self.nor(&file)))?;
        let library = Library {
            path: made.path,
            symbols: made.kernels.into_iter().map(|k| (k.name, k.run)).collect(),
        };
        if self.folder.is_temporary() {
            return Ok(library);
        }
        if let Ok(code) = fs::read(&library.path) {
            let lines = library.symbols.iter();
            let lines: String = lines.map(|(name, run)| format!("{name} {run}\n")).collect();
            // The symbols come last: with them the library is complete.
            if self.keep(&file, &code) {
                self.keep(&symbols, lines.as_bytes());
            }
        }
        Ok(library)
    }
}

fn ptx_file(text: &str) -> String {
    format!("{}.ptx", key(text))
}

/// The files of a library: itself, and a line for each kernel with its name and its symbol.
fn library_files(text: &str) -> Result<[String; 2], BuildError> {
    let (key, abi) = (key(text), native_abi()?);
    Ok(["so", "symbols"].map(|kind| format!("{key}.{abi}.{kind}")))
}

/// The kept kernels, if they are there and trusted. Untrusted ones are warned of.
fn used<T>(kept: Result<Option<T>, UntrustedPath>) -> Option<T> {
    let warn =
        |reason: &UntrustedPath| tracing::warn!(%reason, "a kernel that is kept is not used");
    kept.inspect_err(warn).ok().flatten()
}

/// Native code of a unit: a shared library, and the symbol of each kernel in it.
struct Library {
    path: PathBuf,
    symbols: Vec<(String, String)>,
}

/// Names a text and the calls that its code is made for.
pub fn key(text: &str) -> String {
    hash(&[text, &PTX_ABI.to_string()])
}

/// A kernel of rules as the run time sees it, without native code.
fn describe(group: usize) -> RuntimeKernel {
    let arg = |name: &str, index, kind| RuntimeArg {
        name: name.into(),
        index,
        kind,
    };
    let read = |elem| ArgKind::BufferRead { elem };
    let name = text::kernel_name(group);
    RuntimeKernel {
        args: vec![
            arg("arena", 0, read(4)),
            arg("partials", 1, ArgKind::BufferWrite { elem: 4 }),
            arg("coefficients", 2, read(16)),
            arg("uniforms", 3, read(4)),
            arg("use_ranges", 4, read(4)),
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
