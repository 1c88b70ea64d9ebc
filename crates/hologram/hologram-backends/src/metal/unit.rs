//! Translated programs compiled for a device.

use std::path::{Path, PathBuf};

use openvm_metal_builder::{hash, target_ptx, BuildError, Compiler, Toolchain, PTX_ABI};
use openvm_metal_common::kernel::ArgKind;
use openvm_metal_common::{
    DeviceKind, DeviceProfile, RuntimeArg, RuntimeKernel, RuntimeSource, RuntimeSymbols,
    TrustedFolder, UntrustedPath,
};

use super::compile_time::compile_seconds;
use super::effort::Effort;
use super::kept;
use crate::error::{BackendError, Result};
use crate::translate::{self, Plan};

/// Buffer index of the arena that holds all buffers and pools.
pub const ARENA: u8 = 0;
/// Index of the parameters.
pub const PARAMETERS: u8 = 1;
/// Buffer index of the fault records.
pub const FAULTS: u8 = 2;
/// Buffer index of the table of handles.
pub const TABLE: u8 = 3;
/// Buffer index of the word that ends the program.
pub const STOP: u8 = 4;

/// Options for all kernels. Products and sums stay apart, and sums of addresses wrap: buffers lie before or behind what kernels
/// are given.
const OPTIONS: [&str; 2] = ["-ffp-contract=off", "-fno-strict-overflow"];

/// Options for PTX besides: memory has no types.
const PTX_OPTIONS: [&str; 1] = ["-fno-strict-aliasing"];

/// Seconds that a kernel may always take: no limit is shorter.
const LONG: f64 = 1.0;

/// Estimated work of a compiler for a kernel on a CPU.
#[derive(Clone, Copy, Debug)]
pub struct CompilerWork {
    /// Neighbouring lanes do the same: vector code.
    pub vectors: bool,
    /// Seconds of processor time that the longest of them is thought to take.
    pub seconds: f64,
}

/// Compiles units; without a compiler on this machine only Metal devices can be served, and CUDA devices with units
/// that were compiled to the same folder before.
#[derive(Debug)]
pub struct UnitCompiler {
    kind: DeviceKind,
    /// The folder that code is compiled to and loaded from.
    folder: Result<TrustedFolder>,
    effort: Effort,
    /// Kernels for the processor compute as on an Apple GPU.
    as_apple: bool,
    /// Most seconds of processor time for each kernel, where compilers run on this machine.
    limit: Option<u32>,
    tools: Result<Toolchain>,
}

impl UnitCompiler {
    /// A compiler for a kind of device; files are kept in `folder` and used again. With `None` they lie in a temporary folder, which
    /// is removed with the compiler.
    pub fn new(kind: DeviceKind, folder: impl Into<Option<PathBuf>>, effort: Effort) -> Self {
        // Unoptimised PTX takes drivers longer than what is saved.
        let effort = match kind {
            DeviceKind::Cuda => Effort::Usual,
            _ => effort,
        };
        let none = || BackendError::NoCompiler("Metal devices compile the text themselves".into());
        let folder = match (kind, folder.into()) {
            (DeviceKind::Metal, _) => Err(none()),
            (_, Some(folder)) => TrustedFolder::create(&folder).map_err(untrusted),
            (_, None) => TrustedFolder::temporary().map_err(untrusted),
        };
        let tools = folder.as_ref().map_err(Clone::clone).and_then(|folder| {
            Toolchain::new(folder.path())
                .map(|tools| tools.with_options(&OPTIONS))
                .map_err(|error| failure(&error, error.to_string()))
        });
        Self {
            kind,
            folder,
            effort,
            as_apple: false,
            limit: None,
            tools,
        }
    }

    /// The same for the processor under a profile: kernels have the accesses, quotients and errors of functions that they have on an Apple
    /// GPU if the profile is of one, and are optimised as far.
    pub fn under(mut self, profile: &DeviceProfile) -> Self {
        self.as_apple = self.kind == DeviceKind::Cpu && !profile.close_functions;
        self
    }

    /// Sets the most seconds of processor time that a kernel may take; without one there is none. A kernel for the processor that is
    /// thought to take longer ([`compile_seconds`]) is refused before a compiler is asked, unless it lies in the folder.
    pub fn set_limit(&mut self, seconds: Option<u32>) {
        self.limit = seconds;
    }

    /// The device's kind.
    pub fn kind(&self) -> DeviceKind {
        self.kind
    }

    /// Checks that units can be compiled.
    ///
    /// # Errors
    /// [`BackendError::NoCompiler`], [`BackendError::KernelFolder`], [`BackendError::Compilation`] that say why not.
    pub fn check(&self) -> Result<()> {
        match self.kind {
            DeviceKind::Metal => Ok(()),
            DeviceKind::Cpu => self.tools(1, false).map(|_| ()),
            DeviceKind::Cuda => emits_ptx(self.tools(1, false)?.compiler()),
        }
    }

    /// A loadable unit with one kernel for each name and plan.
    ///
    /// # Errors
    /// [`BackendError::NoCompiler`]; [`BackendError::Compilation`] with the compiler's message;
    /// [`BackendError::CompilationLimit`]; [`BackendError::KernelFolder`].
    pub fn compile(&self, name: &str, kernels: &[(&str, &Plan)]) -> Result<RuntimeSource> {
        let text = translate::texts(kernels.iter().copied());
        let described = kernels.iter().map(|(name, plan)| describe(name, plan));
        let work = CompilerWork {
            vectors: kernels.iter().all(|(_, plan)| plan.vectors),
            seconds: self.longest(kernels),
        };
        self.compile_text(name, &text, described.collect(), work)
    }

    /// A loadable unit of kernels' text.
    ///
    /// # Errors
    /// Those of [`UnitCompiler::compile`].
    pub fn compile_text(
        &self,
        name: &str,
        kernels: &str,
        described: Vec<RuntimeKernel>,
        work: CompilerWork,
    ) -> Result<RuntimeSource> {
        let text = match self.kind {
            DeviceKind::Metal => translate::apple_unit_of(kernels),
            DeviceKind::Cpu if self.as_apple => translate::unit_as_apple(kernels),
            _ => translate::unit_of(kernels),
        };
        let mut source = RuntimeSource {
            name: name.into(),
            slices: true,
            kernels: described,
            ..RuntimeSource::default()
        };
        match self.kind {
            DeviceKind::Metal => source.msl = text,
            DeviceKind::Cuda => source.ptx = Some(self.ptx(name, &text, source.kernels.len())?),
            DeviceKind::Cpu => self.native(name, &text, work, &mut source)?,
        }
        Ok(source)
    }

    /// The tools for a unit of so many kernels, vector code or not.
    fn tools(&self, kernels: usize, vectors: bool) -> Result<Toolchain> {
        let level = match (self.effort, vectors) {
            (Effort::Least, _) => "-O0",
            (Effort::Usual, false) if !self.as_apple => "-O1",
            (Effort::Usual, _) => "-O3",
        };
        let mut tools = self.tools.clone()?.with_options(&[level]);
        // Vectors are of no type to Apple's compiler and to clang, but to GCC.
        if self.as_apple && !tools.compiler().is_clang() {
            tools = tools.with_options(&["-fno-strict-aliasing"]);
        }
        let all = |seconds: u32| seconds.saturating_mul(kernels as u32);
        Ok(match self.limit.map(all) {
            Some(seconds) => tools.with_time_limit(seconds),
            None => tools,
        })
    }

    /// Seconds that the kernel which is thought to take longest takes.
    fn longest(&self, kernels: &[(&str, &Plan)]) -> f64 {
        let seconds = kernels
            .iter()
            .map(|(_, plan)| compile_seconds(plan, self.effort));
        seconds.fold(0.0, f64::max)
    }

    /// Refuses a kernel that is thought to take longer than the limit.
    ///
    /// # Errors
    /// [`BackendError::CompilationLimit`].
    fn within_limit(&self, seconds: f64) -> Result<()> {
        match self.limit {
            Some(limit) if seconds > f64::from(limit) => {
                Err(BackendError::CompilationLimit(format!(
                    "not tried: it would take about {seconds:.0} s of processor time, and the limit is {limit} s; \
                     `set_compile_limit` sets the limit"
                )))
            }
            _ => Ok(()),
        }
    }

    /// PTX of a unit, from the folder if it was compiled before.
    fn ptx(&self, name: &str, text: &str, kernels: usize) -> Result<String> {
        let folder = self.folder.as_ref().map_err(Clone::clone)?;
        let file = ptx_file(name, text, self.effort);
        if let Some(kept) = kept::text(folder, &file).map_err(untrusted)? {
            if let Some(ptx) = kept::without_sum(&kept) {
                return Ok(ptx.into());
            }
        }
        let tools = self.tools(kernels, false).map_err(|mut error| {
            if let BackendError::NoCompiler(text) = &mut error {
                let path = folder.path().join(&file);
                text.push_str(&format!("; nor is there {}", path.display()));
            }
            error
        })?;
        let ptx = tools
            .with_options(&PTX_OPTIONS)
            .compile_ptx(folder.path(), text)
            .map_err(|error| failure(&error, format!("{name}: {error}")))?;
        // A folder that cannot be written is no error: the text is compiled again next time.
        let _ = folder.write(&file, kept::with_sum(&ptx).as_bytes());
        Ok(ptx)
    }

    fn native(
        &self,
        name: &str,
        text: &str,
        CompilerWork { vectors, seconds }: CompilerWork,
        source: &mut RuntimeSource,
    ) -> Result<()> {
        let tools = self.tools(source.kernels.len(), vectors)?;
        let folder = self.folder.as_ref().map_err(Clone::clone)?;
        // A file names the library of a long kernel, whose name is known only behind the preprocessor.
        let mark = (seconds > LONG).then(|| {
            let key = hash(&[text, &format!("{:?} {vectors} {OPTIONS:?}", self.effort)]);
            format!("{name}-{key}.long")
        });
        let named = match &mark {
            Some(mark) => kept::text(folder, mark).map_err(untrusted)?,
            None => None,
        };
        let compiled = named.is_some_and(|library| Path::new(&library).exists());
        if !compiled {
            self.within_limit(seconds)?;
        }
        let library = tools.compile_cpu_shared(folder.path(), text);
        let library = library.map_err(|error| failure(&error, format!("{name}: {error}")))?;
        if let Some(mark) = mark.filter(|_| !compiled) {
            // Without it the kernel may be refused later, which is no error.
            let _ = folder.write(&mark, library.path.to_string_lossy().as_bytes());
        }
        for kernel in &mut source.kernels {
            let found = library.kernels.iter().find(|k| k.name == kernel.name);
            kernel.cpu = found.map(|k| RuntimeSymbols {
                run: k.scalar.clone(),
                fiber: k.fiber.clone(),
            });
        }
        source.cpu = Some(library.path);
        Ok(())
    }
}

/// Name of the file that keeps a unit's PTX.
fn ptx_file(name: &str, text: &str, effort: Effort) -> String {
    let key = hash(&[
        text,
        &format!("{effort:?} {PTX_ABI} {OPTIONS:?} {PTX_OPTIONS:?}"),
    ]);
    format!("{name}-{key}.ptx")
}

/// Checks that a compiler makes code for NVIDIA's GPUs.
///
/// # Errors
/// [`BackendError::NoCompiler`] that says which does.
fn emits_ptx(compiler: &Compiler) -> Result<()> {
    if target_ptx::available(compiler) {
        return Ok(());
    }
    Err(BackendError::NoCompiler(format!(
        "`{}` makes no code for NVIDIA GPUs: install clang {} or newer",
        compiler.program,
        target_ptx::OLDEST_CLANG
    )))
}

/// The error for a folder or file that other users could have written, or that cannot be used.
fn untrusted(error: UntrustedPath) -> BackendError {
    BackendError::KernelFolder(format!("{error} (HOLOGRAM_CACHE names the folder)"))
}

/// Error for a failure of the tools: a missing tool, a folder that cannot be written, or a compilation that failed.
fn failure(error: &BuildError, text: String) -> BackendError {
    match error {
        BuildError::NoCompiler { .. }
        | BuildError::OldCompiler { .. }
        | BuildError::Tool { .. } => BackendError::NoCompiler(text),
        BuildError::Io { .. } => {
            BackendError::KernelFolder(format!("{text}; HOLOGRAM_CACHE names another folder"))
        }
        BuildError::TooLong { seconds, .. } => BackendError::CompilationLimit(format!(
            "more than {seconds} s of processor time; `set_compile_limit` sets the limit"
        )),
        _ => BackendError::Compilation(text),
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
        arg("stop", STOP, ArgKind::BufferRead { elem: 4 }),
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const KERNEL: &str =
        "kernel void one(device uint *a [[buffer(0)]], uint i [[thread_position_in_grid]]) { a[i] = 1; }";
    const SHORT: CompilerWork = CompilerWork {
        vectors: false,
        seconds: 0.0,
    };

    fn files(folder: &TrustedFolder, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder.path()).expect("a folder").flatten();
        let paths = entries.map(|entry| entry.path());
        paths
            .filter(|path| path.to_string_lossy().ends_with(ending))
            .collect()
    }

    /// Files of a library that are gone, cut or changed are made again, by many threads at once too: each is given a whole one.
    #[test]
    fn damaged_libraries_are_made_again() {
        let folder = TrustedFolder::temporary().expect("a folder");
        let path = folder.path().to_path_buf();
        let compiler = UnitCompiler::new(DeviceKind::Cpu, path, Effort::Least);
        let compile = || {
            let made = compiler.compile_text("unit", KERNEL, vec![], SHORT);
            made.expect("compiled").cpu.expect("a library")
        };
        let library = compile();
        let objects = files(&folder, ".o");
        assert!(!objects.is_empty());
        let whole = fs::read(&library).expect("a library");
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for damaged in [&whole[..whole.len() / 2], &flipped, &[], b"no library"] {
            fs::remove_file(&library).expect("removed");
            fs::write(&library, damaged).expect("written");
            for object in &objects {
                fs::write(object, damaged).expect("written");
            }
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        assert_eq!(compile(), library);
                        let now = fs::read(&library).expect("a library");
                        assert!(now == whole, "{} bytes of {}", now.len(), whole.len());
                    });
                }
            });
        }
        fs::remove_file(&library).expect("removed");
        assert_eq!(compile(), library);
        assert!(library.exists());
    }

    /// Files of a kernel that are no text any more are as if they were not there.
    #[test]
    fn damaged_texts_are_made_again() {
        let folder = TrustedFolder::temporary().expect("a folder");
        let new = |kind| UnitCompiler::new(kind, folder.path().to_path_buf(), Effort::Least);
        let long = CompilerWork {
            seconds: 2.0 * LONG,
            ..SHORT
        };
        let native = new(DeviceKind::Cpu);
        let compile = || native.compile_text("unit", KERNEL, vec![], long);
        compile().expect("compiled");
        let marks = files(&folder, ".long");
        let noted = fs::read(&marks[0]).expect("a mark");
        fs::write(&marks[0], b"\xff").expect("written");
        compile().expect("compiled again");
        assert_eq!(fs::read(&marks[0]).expect("a mark"), noted);

        let cuda = new(DeviceKind::Cuda);
        let file = folder.path().join(ptx_file("unit", "text", cuda.effort));
        fs::write(file, b"// \xff\n").expect("written");
        // What follows from a file that is not there: the compiler is asked, which finds no kernel, or makes no PTX.
        let error = cuda.ptx("unit", "text", 1).expect_err("no text of kernels");
        assert!(!matches!(error, BackendError::KernelFolder(_)), "{error:?}");
    }
}
