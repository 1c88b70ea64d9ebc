//! What a crate's `build.rs` calls.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Instant,
};

use crate::{
    cache,
    codegen_cpp::{self, Flavour},
    codegen_rust::{self, LibraryOutput, UnitOutput},
    compiler::Compiler,
    error::{BuildError, Finding},
    lint,
    preprocess::{preprocess, Preprocessed},
    probe::{self, Sizes},
    scan::{self, Scan},
    shim::{write_if_changed, ShimFolders},
    target_apple,
    target_cpu::{self, Isa},
    target_ptx,
    types::TypeMap,
};

/// Compiles all `.metal` files of a folder for every target and generates their launchers.
///
/// ```no_run
/// // build.rs
/// openvm_metal_builder::Builder::new("metal")
///     .map_type("Fp", "::p3_baby_bear::BabyBear")
///     .build()
///     .unwrap_or_else(|e| openvm_metal_builder::fail(&e));
/// ```
///
/// The crate then holds `pub mod kernels { include!(concat!(env!("OUT_DIR"), "/kernels.rs")); }`.
#[derive(Clone, Debug)]
pub struct Builder {
    folder: PathBuf,
    types: TypeMap,
}

struct Unit {
    file: PathBuf,
    name: String,
    prefix: String,
    scan: Scan,
    files: Vec<PathBuf>,
}

struct Context {
    compiler: Compiler,
    shim: ShimFolders,
    root: PathBuf,
    out: PathBuf,
    target: String,
    cross: bool,
    isas: Vec<Isa>,
    ptx: bool,
}

#[derive(Clone, Copy)]
enum Task {
    Cpu(usize, Flavour, Isa),
    Ptx(usize),
}

impl Builder {
    /// A builder for the `.metal` files in and below `folder`, relative to the crate.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            types: TypeMap::default(),
        }
    }

    /// The Rust type that launchers take for the Metal type `metal`. `Fp`, `FpExt` and `Digest` are BabyBear types
    /// without being told, other structs are looked up in `crate::params`.
    pub fn map_type(mut self, metal: &str, rust: &str) -> Self {
        self.types.insert(metal, rust);
        self
    }

    /// The module where structs without a mapping are looked up instead of `crate::params`.
    pub fn params_module(mut self, module: &str) -> Self {
        self.types.set_fallback(module);
        self
    }

    /// Builds everything and tells cargo what to link and when to run again.
    pub fn build(self) -> Result<(), BuildError> {
        let var = |name: &str| env::var(name).unwrap_or_default();
        let root = Path::new(&var("CARGO_MANIFEST_DIR")).join(&self.folder);
        let out = PathBuf::from(var("OUT_DIR")).join("metal");
        for v in [
            "OPENVM_METAL_CXX",
            "OPENVM_METAL_BUILD_ISA",
            "OPENVM_METAL_BUILD_PTX",
        ] {
            println!("cargo:rerun-if-env-changed={v}");
        }
        println!("cargo:rerun-if-changed={}", root.display());
        let compiler = Compiler::find()?;
        let ptx = target_ptx::wanted()? && target_ptx::available(&compiler);
        if !compiler.is_clang() {
            println!(
                "cargo:warning=kernels are compiled with {}: the CPU device works; without clang there are no NVIDIA kernels \
                 and no check of the Metal rules",
                compiler.version
            );
        }
        let cx = Context {
            shim: ShimFolders::write(&out)?,
            isas: Isa::selected(&var("CARGO_CFG_TARGET_ARCH"))?,
            target: var("TARGET"),
            cross: var("TARGET") != var("HOST"),
            compiler,
            root,
            out,
            ptx,
        };
        let library = var("CARGO_PKG_NAME").replace('-', "_");
        let units = scan_units(&cx, &library)?;
        for f in units.iter().flat_map(|u| &u.files) {
            println!("cargo:rerun-if-changed={}", f.display());
        }
        let objects = compile(&cx, &units)?;
        archive(&cx, &library, &objects)?;
        let text = generate(&cx, &library, &units, &self.types)?;
        write_if_changed(&PathBuf::from(var("OUT_DIR")).join("kernels.rs"), &text)
    }
}

fn metal_files(folder: &Path, out: &mut Vec<PathBuf>) -> Result<(), BuildError> {
    let entries = fs::read_dir(folder).map_err(|e| BuildError::io(folder, e))?;
    for entry in entries {
        let path = entry.map_err(|e| BuildError::io(folder, e))?.path();
        if path.is_dir() {
            metal_files(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "metal") {
            out.push(path);
        }
    }
    Ok(())
}

fn identifier(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}

impl Context {
    /// Path of a build product of unit `u` without extension.
    fn product(&self, name: &str, tag: &str) -> PathBuf {
        self.out.join(identifier(name)).join(tag)
    }

    fn preprocess(
        &self,
        file: &Path,
        name: &str,
        flavour: Flavour,
    ) -> Result<Preprocessed, BuildError> {
        let tag = match flavour {
            Flavour::Scalar => "scalar".into(),
            Flavour::Lanes(w) => format!("lanes{w}"),
            Flavour::Fiber => "fiber".into(),
            Flavour::Ptx => "ptx".into(),
            Flavour::Probe => "probe".into(),
            Flavour::Lint => "lint".into(),
        };
        let path = self.product(name, &tag);
        preprocess(&self.compiler, &self.shim, &self.root, file, flavour, &path)
    }

    /// Compiles `text` with `options` to `output`, unless nothing changed.
    fn compile(
        &self,
        u: &Unit,
        text: &str,
        options: &[String],
        output: &Path,
        target: &str,
    ) -> Result<(), BuildError> {
        static SHIM: OnceLock<String> = OnceLock::new();
        let shim = SHIM.get_or_init(|| {
            let all: Vec<&str> = crate::shim::FILES.iter().map(|f| f.1).collect();
            cache::hash(&all)
        });
        let key = cache::hash(&[&self.compiler.version, shim, &options.join("\n"), text]);
        cache::cached(output, &key, || {
            let source = output.with_extension("cpp");
            write_if_changed(&source, text)?;
            let mut args = options.to_vec();
            args.extend([
                "-o".into(),
                output.display().to_string(),
                source.display().to_string(),
            ]);
            let start = Instant::now();
            self.compiler.run(&args, &u.file, target)?;
            if env::var_os("OPENVM_METAL_BUILD_VERBOSE").is_some() {
                println!(
                    "{} for {target}: {:.2} s",
                    u.name,
                    start.elapsed().as_secs_f64()
                );
            }
            Ok(())
        })
    }
}

fn scan_units(cx: &Context, library: &str) -> Result<Vec<Unit>, BuildError> {
    let mut paths = Vec::new();
    metal_files(&cx.root, &mut paths)?;
    paths.sort();
    let scanned = cache::parallel(paths.len(), |i| {
        let file = paths[i].clone();
        let below = file
            .strip_prefix(&cx.root)
            .unwrap_or(&file)
            .with_extension("");
        let name = below.display().to_string().replace('\\', "/");
        let p = cx.preprocess(&file, &name, Flavour::Scalar)?;
        let mut scan = scan::scan(&p.tokens);
        scan.findings = lint::tokens(&p.tokens, &scan);
        Ok(Unit {
            scan,
            prefix: format!("{library}_{}", identifier(&name)),
            name,
            files: p.files,
            file,
        })
    });
    let units = all(scanned)?;
    let mut findings: Vec<Finding> = units.iter().flat_map(|u| u.scan.findings.clone()).collect();
    let mut seen = std::collections::HashMap::new();
    for u in &units {
        for e in &u.scan.entries {
            if let Some(other) = seen.insert(&e.name, &u.name) {
                let f = &u.scan.functions[e.function];
                findings.push(Finding {
                    file: f.file.clone(),
                    line: f.line,
                    rule: "kernel-name",
                    message: format!("kernel `{}` exists in `{other}.metal` too", e.name),
                    remedy:
                        "launchers are named after kernels: give each its own name in the crate",
                });
            }
        }
    }
    if findings.is_empty() {
        Ok(units)
    } else {
        Err(BuildError::Rules(findings))
    }
}

/// All results, or the first error; messages of several compilations are put together.
fn all<T>(results: Vec<Result<T, BuildError>>) -> Result<Vec<T>, BuildError> {
    let mut out = Vec::new();
    let mut failed: Option<BuildError> = None;
    for r in results {
        match (r, &mut failed) {
            (Ok(v), _) => out.push(v),
            (Err(e), None) => failed = Some(e),
            (Err(_), Some(_)) => {}
        }
    }
    failed.map_or(Ok(out), Err)
}

fn compile(cx: &Context, units: &[Unit]) -> Result<Vec<PathBuf>, BuildError> {
    let mut tasks = Vec::new();
    for (n, u) in units.iter().enumerate() {
        let kinds = || {
            u.scan
                .entries
                .iter()
                .map(|e| u.scan.functions[e.function].kind)
        };
        if kinds().next().is_none() {
            continue;
        }
        for &isa in &cx.isas {
            if kinds().any(scan::Kind::lanes) {
                tasks.push(Task::Cpu(n, Flavour::Lanes(isa.lanes()), isa));
            }
            tasks.push(Task::Cpu(n, Flavour::Scalar, isa));
        }
        if let Some(isa) = codegen_rust::fiber_isa(&cx.isas) {
            if kinds().any(scan::Kind::barriers) {
                tasks.push(Task::Cpu(n, Flavour::Fiber, isa));
            }
            tasks.push(Task::Cpu(n, Flavour::Probe, isa));
        }
        if cx.ptx {
            tasks.push(Task::Ptx(n));
        }
    }
    let done = cache::parallel(tasks.len(), |i| match tasks[i] {
        Task::Cpu(n, flavour, isa) => cpu(cx, &units[n], flavour, isa).map(Some),
        Task::Ptx(n) => {
            let u = &units[n];
            let p = cx.preprocess(&u.file, &u.name, Flavour::Ptx)?;
            let text = codegen_cpp::unit(&p.tokens, &scan::scan(&p.tokens), Flavour::Ptx, "");
            let options = target_ptx::options(&cx.compiler, &cx.shim);
            cx.compile(
                u,
                &text,
                &options,
                &cx.product(&u.name, "kernels.ptx"),
                "ptx",
            )?;
            Ok(None)
        }
    });
    Ok(all(done)?
        .into_iter()
        .flatten()
        .filter(|p| p.extension().is_some_and(|e| e == "o"))
        .collect())
}

fn cpu(cx: &Context, u: &Unit, flavour: Flavour, isa: Isa) -> Result<PathBuf, BuildError> {
    let p = cx.preprocess(&u.file, &u.name, flavour)?;
    let prefix = format!("{}_{}", u.prefix, isa.suffix());
    let text = codegen_cpp::unit(&p.tokens, &scan::scan(&p.tokens), flavour, &prefix);
    let mut options =
        target_cpu::options(&cx.compiler, &cx.shim, flavour, isa, &cx.target, cx.cross);
    let (tag, what) = match flavour {
        Flavour::Lanes(_) => (format!("{}_lanes.o", isa.suffix()), "lanes"),
        Flavour::Fiber => (format!("{}_fiber.o", isa.suffix()), "fibers"),
        Flavour::Probe => ("probe.s".into(), "sizes"),
        _ => (format!("{}.o", isa.suffix()), "scalar"),
    };
    options.push(
        if flavour == Flavour::Probe {
            "-S"
        } else {
            "-c"
        }
        .into(),
    );
    let output = cx.product(&u.name, &tag);
    let target = format!("cpu {} {what}", isa.suffix());
    cx.compile(u, &text, &options, &output, &target)?;
    Ok(output)
}

fn archive(cx: &Context, library: &str, objects: &[PathBuf]) -> Result<(), BuildError> {
    if objects.is_empty() {
        return Ok(());
    }
    let name = format!("mslk_{library}");
    let file = cx.out.join(format!("lib{name}.a"));
    let list: Vec<String> = objects.iter().map(|o| o.display().to_string()).collect();
    let contents = cache::files_key(objects).unwrap_or_default();
    cache::cached(&file, &cache::hash(&[&contents]), || {
        let _ = fs::remove_file(&file);
        let ar = env::var("AR").unwrap_or_else(|_| "ar".into());
        let out = Command::new(&ar)
            .arg("crs")
            .arg(&file)
            .args(&list)
            .output()
            .map_err(|e| BuildError::Tool {
                tool: ar.clone(),
                message: e.to_string(),
            })?;
        if out.status.success() {
            return Ok(());
        }
        Err(BuildError::Tool {
            tool: ar,
            message: String::from_utf8_lossy(&out.stderr).into_owned(),
        })
    })?;
    println!("cargo:rustc-link-search=native={}", cx.out.display());
    println!("cargo:rustc-link-lib=static={name}");
    if cx.target.contains("linux") {
        println!("cargo:rustc-link-lib=dylib=m");
    }
    Ok(())
}

fn generate(
    cx: &Context,
    library: &str,
    units: &[Unit],
    types: &TypeMap,
) -> Result<String, BuildError> {
    let mut sizes = Vec::new();
    for u in units {
        let text = fs::read_to_string(cx.product(&u.name, "probe.s")).unwrap_or_default();
        sizes.push(if u.scan.entries.is_empty() {
            Sizes::default()
        } else {
            probe::parse(&text)
        });
        write_if_changed(
            &cx.product(&u.name, "flat.metal"),
            &target_apple::flatten(&cx.root, &u.file)?,
        )?;
    }
    let findings: Vec<Finding> = units
        .iter()
        .zip(&sizes)
        .flat_map(|(u, s)| threadgroup_limit(u, s))
        .collect();
    if !findings.is_empty() {
        return Err(BuildError::Rules(findings));
    }
    let outputs: Vec<UnitOutput<'_>> = units
        .iter()
        .zip(&sizes)
        .map(|(u, sizes)| {
            let below = |tag: &str| format!("metal/{}/{tag}", identifier(&u.name));
            UnitOutput {
                name: &u.name,
                prefix: &u.prefix,
                scan: &u.scan,
                sizes,
                msl: below("flat.metal"),
                ptx: (cx.ptx && !u.scan.entries.is_empty()).then(|| below("kernels.ptx")),
            }
        })
        .collect();
    let lib = LibraryOutput {
        name: library,
        isas: &cx.isas,
        types,
        metallib: None,
    };
    Ok(codegen_rust::generate(&lib, &outputs))
}

/// Threadgroup memory of every Apple GPU.
const THREADGROUP_LIMIT: u32 = 32 * 1024;

fn threadgroup_limit(u: &Unit, sizes: &Sizes) -> Vec<Finding> {
    let over = |(n, e): (usize, &scan::Entry)| {
        let bytes = *sizes.threadgroup.get(&n)?;
        let f = &u.scan.functions[e.function];
        (bytes > THREADGROUP_LIMIT).then(|| Finding {
            file: f.file.clone(),
            line: f.line,
            rule: "threadgroup-memory",
            message: format!("kernel `{}` declares {bytes} bytes of threadgroup arrays, the limit is {THREADGROUP_LIMIT}", e.name),
            remedy: "use smaller arrays",
        })
    };
    u.scan.entries.iter().enumerate().filter_map(over).collect()
}

/// Ends a build script with the error, each line readable in cargo's output.
pub fn fail(error: &BuildError) -> ! {
    for line in error.to_string().lines() {
        println!("cargo:warning={line}");
    }
    eprintln!("{error}");
    std::process::exit(1)
}
