//! Units of rules compiled for a device.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use openvm_metal_builder::{native_abi, BuildError, Toolchain, PTX_ABI};
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

    /// Whether code of this text was kept: PTX, or a library of this processor.
    pub fn has(&self, text: &str) -> bool {
        match self.kind {
            DeviceKind::Metal => false,
            DeviceKind::Cuda => self.kept(text, "ptx").is_file(),
            DeviceKind::Cpu => self.kept_library(text).is_some(),
        }
    }

    fn kept(&self, text: &str, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", key(text)))
    }

    fn tools(&self) -> Result<Toolchain, BuildError> {
        Toolchain::new(self.folder.join("scratch"))
    }

    /// PTX of a unit, from the folder if it was compiled before, here or elsewhere.
    fn ptx(&self, text: &str) -> Result<String, String> {
        let path = self.kept(text, "ptx");
        if let Ok(ptx) = fs::read_to_string(&path) {
            return Ok(ptx);
        }
        let ptx = self
            .tools()
            .and_then(|tools| tools.compile_ptx(&self.folder, text))
            .map_err(|error| format!("{error}; nor is there {}", path.display()))?;
        keep(&path, ptx.as_bytes());
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

    /// The files of a library: itself, and a line for each kernel with its name and its symbol.
    fn library_files(&self, text: &str) -> Result<[PathBuf; 2], BuildError> {
        let abi = native_abi()?;
        Ok(["so", "symbols"].map(|kind| self.kept(text, &format!("{abi}.{kind}"))))
    }

    fn kept_library(&self, text: &str) -> Option<Library> {
        let [path, symbols] = self.library_files(text).ok()?;
        let symbols = fs::read_to_string(symbols).ok()?;
        let pair = |line: &str| {
            let (name, symbol) = line.split_once(' ')?;
            Some((name.to_owned(), symbol.to_owned()))
        };
        let symbols = symbols.lines().map(pair).collect::<Option<_>>()?;
        path.is_file().then_some(Library { path, symbols })
    }

    fn compile_library(&self, text: &str) -> Result<Library, String> {
        let failed = |error: BuildError| error.to_string();
        let [path, symbols] = self.library_files(text).map_err(failed)?;
        let made = self
            .tools()
            .and_then(|tools| tools.compile_cpu_shared(&self.folder, text))
            .map_err(|error| format!("{error}; nor is there {}", path.display()))?;
        let library = Library {
            path: made.path,
            symbols: made.kernels.into_iter().map(|k| (k.name, k.run)).collect(),
        };
        if let Ok(code) = fs::read(&library.path) {
            let lines = library.symbols.iter();
            let lines: String = lines.map(|(name, run)| format!("{name} {run}\n")).collect();
            // The symbols come last: with them the library is complete.
            keep(&path, &code);
            keep(&symbols, lines.as_bytes());
        }
        Ok(library)
    }
}

/// Native code of a unit: a shared library, and the symbol of each kernel in it.
struct Library {
    path: PathBuf,
    symbols: Vec<(String, String)>,
}

/// Writes under another name and renames, so that nobody reads half a file. If writing fails, the text is compiled again
/// next time.
fn keep(path: &Path, content: &[u8]) {
    // Other processes, and other threads of this one, may keep the same text.
    static PARTS: AtomicU64 = AtomicU64::new(0);
    let number = PARTS.fetch_add(1, Ordering::Relaxed);
    let part = path.with_extension(format!("{}-{number}.part", std::process::id()));
    if fs::write(&part, content).is_ok() {
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
