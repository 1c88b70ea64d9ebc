//! The same steps outside of build scripts: lint a file, compile source made at run time.

use std::path::{Path, PathBuf};

use crate::{
    cache,
    codegen_cpp::{self, Flavour, Prefixes},
    compiler::Compiler,
    error::{BuildError, Finding},
    function_constants::{self, ConstantValue, ConstantValues, FunctionConstant},
    lexer::Tokens,
    lint,
    preprocess::{preprocess, Preprocessed, Request, METAL_VERSION},
    rewrite,
    scan::{self, Kind, Scan},
    shim::{self, write_if_changed, ShimFolders},
    target_apple,
    target_cpu::{self, Isa},
    target_ptx,
};

/// A compiler with the shim written to a scratch folder.
#[derive(Clone, Debug)]
pub struct Toolchain {
    compiler: Compiler,
    shim: ShimFolders,
    scratch: PathBuf,
    options: Vec<String>,
    constants: ConstantValues,
    metal_version: u32,
}

/// A shared library of native kernels.
#[derive(Clone, Debug)]
pub struct SharedKernels {
    /// The library file.
    pub path: PathBuf,
    /// The kernels.
    pub kernels: Vec<SharedKernel>,
}

/// One kernel of a [`SharedKernels`].
#[derive(Clone, Debug)]
pub struct SharedKernel {
    /// Name of the kernel.
    pub name: String,
    /// Kind of the kernel.
    pub kind: Kind,
    /// Symbol of the version to use, a `CpuFn` of `openvm-metal-common`.
    pub run: String,
    /// Symbol of the version without lanes, a `CpuFn`.
    pub scalar: String,
    /// Symbol of one thread on a fiber, a `CpuThreadFn`; kernels with barriers have one.
    pub fiber: Option<String>,
}

/// Identity of native code, as part of a file's name: the instructions that it uses on this machine, and the calling convention of its kernels. A
/// library that was made for another is not loaded.
///
/// # Errors
/// If `OPENVM_METAL_BUILD_ISA` names what does not exist.
pub fn native_abi() -> Result<String, BuildError> {
    let isa = Isa::best(&Isa::selected(std::env::consts::ARCH)?);
    let system = std::env::consts::OS;
    Ok(format!("{}-{system}-{}", isa.suffix(), shim::version()))
}

impl Toolchain {
    /// Finds the compiler; `scratch` holds generated files and results, which later calls reuse.
    pub fn new(scratch: impl Into<PathBuf>) -> Result<Self, BuildError> {
        let scratch = scratch.into();
        Ok(Self {
            compiler: Compiler::find()?,
            shim: ShimFolders::write(&scratch)?,
            scratch,
            options: Vec::new(),
            constants: ConstantValues::new(),
            metal_version: METAL_VERSION,
        })
    }

    /// The version that `__METAL_VERSION__` announces, 300 for Metal 3.0 if this is not called; from 310 on there is
    /// `__HAVE_BFLOAT__`.
    pub fn with_metal_version(mut self, version: u32) -> Self {
        self.metal_version = version;
        self
    }

    /// Gives `[[function_constant(index)]]` a value in what is compiled from here on. On Metal devices pipelines take
    /// their values themselves.
    pub fn with_function_constant(mut self, index: u32, value: ConstantValue) -> Self {
        self.constants.insert(index, value);
        self
    }

    /// Adds compiler options after the toolchain's own, for native code and for PTX.
    ///
    /// `-ffp-contract=off` keeps a product and a sum apart, `-O1` compiles large generated units sooner.
    pub fn with_options(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(ToString::to_string));
        self
    }

    /// Ends each compilation that takes more than so many seconds of processor time with [`BuildError::TooLong`].
    pub fn with_time_limit(mut self, seconds: u32) -> Self {
        self.compiler = self.compiler.limited(seconds);
        self
    }

    /// True if `[[function_constant(index)]]` has a value.
    pub fn has_function_constant(&self, index: u32) -> bool {
        self.constants.contains_key(&index)
    }

    /// The compiler in use.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    fn read(
        &self,
        root: &Path,
        file: &Path,
        flavour: Flavour,
    ) -> Result<(Preprocessed, Scan), BuildError> {
        let folder = self.text_folder(file);
        let p = preprocess(self.request(root, file, &folder), flavour)?;
        let scan = self.scan(&p);
        Ok((p, scan))
    }

    fn text_folder(&self, file: &Path) -> PathBuf {
        let key = cache::hash(&[&file.display().to_string()]);
        self.scratch.join("text").join(key)
    }

    fn request<'a>(&'a self, root: &'a Path, file: &'a Path, folder: &'a Path) -> Request<'a> {
        Request {
            compiler: &self.compiler,
            root,
            file,
            metal_version: self.metal_version,
            folder,
        }
    }

    /// The text of a file that Apple's compiler gets: [`target_apple::text`].
    pub fn apple_text(&self, root: &Path, file: &Path) -> Result<Preprocessed, BuildError> {
        let folder = self.text_folder(file);
        target_apple::text(self.request(root, file, &folder))
    }

    /// Does the work of [`Self::apple_text`] for source text whose includes are looked up in `root`.
    pub fn apple_text_of(&self, root: &Path, source: &str) -> Result<Preprocessed, BuildError> {
        self.apple_text(root, &self.source_file(source)?)
    }

    fn scan(&self, p: &Preprocessed) -> Scan {
        let mut scan = scan::scan(&p.tokens);
        scan.values = self.constants.clone();
        scan
    }

    /// The function constants of a file.
    pub fn function_constants(
        &self,
        root: &Path,
        file: &Path,
    ) -> Result<Vec<FunctionConstant>, BuildError> {
        Ok(self.read(root, file, Flavour::Scalar)?.1.constants)
    }

    /// Names and kinds of the kernels of a file.
    pub fn kernels(&self, root: &Path, file: &Path) -> Result<Vec<(String, Kind)>, BuildError> {
        let (_, scan) = self.read(root, file, Flavour::Scalar)?;
        let kind = |e: &scan::Entry| scan.functions[e.function].kind;
        Ok(scan
            .entries
            .iter()
            .map(|e| (e.name.clone(), kind(e)))
            .collect())
    }

    /// Everything the lint finds in a file; the address-space check needs clang and is left out without.
    pub fn lint(&self, root: &Path, file: &Path) -> Result<Vec<Finding>, BuildError> {
        let p = self.apple_text(root, file)?;
        let mut scan = self.scan(&p);
        scan.findings.extend(p.findings.iter().cloned());
        let mut out = lint::tokens(&p.tokens, &scan);
        // What the tokens show already, clang would report again in its own words.
        if out.is_empty() && lint::address_space::available(&self.compiler) {
            let key = cache::hash(&[&file.display().to_string()]);
            let scratch = self.scratch.join(format!("lint-{key}.cl"));
            out =
                lint::address_space::check(&self.compiler, &self.shim, &p.tokens, &scan, &scratch)?;
        }
        Ok(out.into_iter().map(|f| f.below(root)).collect())
    }

    /// Compiles a file to a shared library for this machine, `<scratch>/<hash>.so`.
    pub fn compile_cpu_file(&self, root: &Path, file: &Path) -> Result<SharedKernels, BuildError> {
        let isa = Isa::selected(std::env::consts::ARCH)?;
        let isa = Isa::best(&isa);
        let (p, scan) = self.read(root, file, Flavour::Scalar)?;
        reject(&scan, root, file)?;
        let mut flavours = vec![(Flavour::Scalar, p, "s")];
        if scan
            .entries
            .iter()
            .any(|e| scan.functions[e.function].kind.lanes())
        {
            let lanes = Flavour::Lanes(isa.lanes());
            flavours.push((lanes, self.read(root, file, lanes)?.0, "r"));
        }
        if scan
            .entries
            .iter()
            .any(|e| scan.functions[e.function].kind.barriers())
        {
            flavours.push((
                Flavour::Fiber,
                self.read(root, file, Flavour::Fiber)?.0,
                "f",
            ));
        }
        let mut objects = Vec::new();
        let mut all = String::new();
        for (flavour, p, tag) in &flavours {
            let text = codegen_cpp::unit(
                &p.tokens,
                &self.scan(p),
                *flavour,
                Prefixes::alone(isa.suffix()),
            );
            let mut options =
                target_cpu::options(&self.compiler, &self.shim, *flavour, false, isa, "", false);
            options.extend(contraction(&p.tokens));
            options.extend(self.options.iter().cloned());
            let key = cache::hash(&[
                &self.compiler.version,
                shim::version(),
                &options.join("\n"),
                &text,
            ]);
            let object = self.scratch.join(format!("{key}-{tag}.o"));
            let source = object.with_extension("cpp");
            cache::cached(&object, &key, || {
                write_if_changed(&source, &text)?;
                let mut args = options.clone();
                args.extend([
                    "-c".into(),
                    "-o".into(),
                    object.display().to_string(),
                    source.display().to_string(),
                ]);
                self.compiler.run(&args, file, "cpu").map(|_| ())
            })?;
            objects.push(object);
            all += &key;
        }
        let path = self.scratch.join(format!("{}.so", cache::hash(&[&all])));
        cache::cached(&path, &all, || {
            let mut args: Vec<String> = ["-shared", "-fPIC", "-o"].map(String::from).to_vec();
            args.push(path.display().to_string());
            args.extend(objects.iter().map(|o| o.display().to_string()));
            args.push("-lm".into());
            self.compiler
                .run(&args, file, "a shared library")
                .map(|_| ())
        })?;
        let kernels = scan.entries.iter().map(|e| {
            let kind = scan.functions[e.function].kind;
            let s = codegen_cpp::symbol(isa.suffix(), &e.name);
            SharedKernel {
                name: e.name.clone(),
                kind,
                run: format!("{s}_{}", if kind.lanes() { "r" } else { "s" }),
                scalar: format!("{s}_s"),
                fiber: kind.barriers().then(|| format!("{s}_f")),
            }
        });
        Ok(SharedKernels {
            kernels: kernels.collect(),
            path,
        })
    }

    /// Does the work of [`Self::compile_cpu_file`] for source text whose includes are looked up in `root`.
    pub fn compile_cpu_shared(
        &self,
        root: &Path,
        source: &str,
    ) -> Result<SharedKernels, BuildError> {
        self.compile_cpu_file(root, &self.source_file(source)?)
    }

    /// PTX of a file; the entry of kernel `k` is `msl_k`.
    pub fn compile_ptx_file(&self, root: &Path, file: &Path) -> Result<String, BuildError> {
        if !target_ptx::available(&self.compiler) {
            return Err(BuildError::Tool {
                tool: self.compiler.program.clone(),
                message: format!(
                    "this compiler cannot emit PTX; install clang {} or newer",
                    target_ptx::OLDEST_CLANG
                ),
            });
        }
        let (p, scan) = self.read(root, file, Flavour::Ptx)?;
        reject(&scan, root, file)?;
        let text = codegen_cpp::unit(&p.tokens, &scan, Flavour::Ptx, Prefixes::default());
        let mut args = target_ptx::options(&self.compiler, &self.shim);
        args.extend(contraction(&p.tokens));
        args.extend(self.options.iter().cloned());
        let key = cache::hash(&[
            &self.compiler.version,
            shim::version(),
            &args.join("\n"),
            &text,
        ]);
        let output = self.scratch.join(format!("{key}.ptx"));
        let source = output.with_extension("ptx.cpp");
        cache::cached(&output, &key, || {
            write_if_changed(&source, &text)?;
            let files = [&output, &source].map(|p| p.display().to_string());
            let [output, source] = files;
            let all: Vec<String> = [args.clone(), vec!["-o".into(), output, source]].concat();
            self.compiler.run(&all, file, "ptx").map(|_| ())
        })?;
        target_ptx::text(&self.compiler, &args, &scan, file, &source, &output)
    }

    /// Does the work of [`Self::compile_ptx_file`] for source text whose includes are looked up in `root`.
    pub fn compile_ptx(&self, root: &Path, source: &str) -> Result<String, BuildError> {
        self.compile_ptx_file(root, &self.source_file(source)?)
    }

    fn source_file(&self, source: &str) -> Result<PathBuf, BuildError> {
        let path = self
            .scratch
            .join(format!("source-{}.metal", cache::hash(&[source])));
        write_if_changed(&path, source)?;
        Ok(path)
    }
}

/// The option that keeps products and sums apart, where the text asks for that.
fn contraction(t: &Tokens) -> Option<String> {
    rewrite::forbids_contraction(t).then(|| "-ffp-contract=off".into())
}

fn reject(scan: &Scan, root: &Path, file: &Path) -> Result<(), BuildError> {
    let missing = function_constants::missing(&scan.constants, &scan.values);
    if !scan.findings.is_empty() {
        Err(BuildError::Rules(scan.findings.clone()).below(root))
    } else if !missing.is_empty() {
        let file = file.to_path_buf();
        Err(BuildError::FunctionConstants { file, missing })
    } else {
        Ok(())
    }
}
