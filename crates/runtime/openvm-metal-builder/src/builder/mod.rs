//! The interface for a crate's `build.rs`.

mod compile;
mod context;
mod metallib;
mod output;
pub(crate) mod units;

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
};

use self::context::Context;
use crate::{
    compiler::Compiler,
    cost_units::CostUnits,
    error::BuildError,
    lint,
    preprocess::{Request, METAL_VERSION},
    scan,
    shim::{write_if_changed, ShimFolders},
    target_apple,
    target_cpu::Isa,
    target_metallib::{self, AppleTools, MetallibChoice},
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
    cost_units: CostUnits,
    prepared: BTreeMap<String, String>,
}

impl Builder {
    /// A builder for the `.metal` files in and below `folder`, relative to the crate.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            types: TypeMap::default(),
            cost_units: CostUnits::default(),
            prepared: BTreeMap::new(),
        }
    }

    /// The Rust type that launchers take for the Metal type `metal`. A struct without one is looked up in `crate::params`.
    pub fn map_type(mut self, metal: &str, rust: &str) -> Self {
        self.types.insert(metal, rust);
        self
    }

    /// A unit that cost clauses may count in beside `byte` and `product`: `of` units `name` (singular) take `products` products.
    pub fn cost_unit(mut self, name: &str, products: u64, of: u64) -> Self {
        self.cost_units.insert(name, products, of);
        self
    }

    /// Devices compile the unit `name`, a path below the folder without extension, when one of its kernels is needed first.
    pub fn at_first_use(mut self, name: &str) -> Self {
        self.prepared.insert(name.into(), "AtFirstUse".into());
        self
    }

    /// Devices with at most `bytes` bytes of threadgroup memory leave the unit `name` out.
    pub fn above_threadgroup_memory(mut self, name: &str, bytes: u32) -> Self {
        let when = format!("AboveThreadgroupMemory({bytes})");
        self.prepared.insert(name.into(), when);
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
            target_metallib::VARIABLE,
            "DEVELOPER_DIR",
            "MACOSX_DEPLOYMENT_TARGET",
        ] {
            println!("cargo:rerun-if-env-changed={v}");
        }
        println!("cargo:rerun-if-changed={}", root.display());
        let compiler = Compiler::find()?;
        let target_mac = var("CARGO_CFG_TARGET_OS") == "macos";
        // There is no NVIDIA driver for macOS.
        let ptx = target_ptx::wanted()? && target_ptx::available(&compiler) && !target_mac;
        if !compiler.is_clang() {
            println!(
                "cargo:warning=kernels are compiled with {}: the CPU device works; without clang there are no NVIDIA kernels \
                 and no check of the Metal rules",
                compiler.version
            );
        }
        if compiler.is_clang() && !compiler.apple && !target_ptx::available(&compiler) {
            println!(
                "cargo:warning=kernels are compiled with {}: NVIDIA kernels need clang {} or newer, there are none",
                compiler.version,
                target_ptx::OLDEST_CLANG
            );
        }
        let mac = cfg!(target_os = "macos") && target_mac;
        let cx = Context {
            apple: AppleTools::find(MetallibChoice::from_env()?, mac)?,
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
        let units = units::scan(&cx, &library, &self.cost_units).map_err(|e| e.below(&cx.root))?;
        for f in units.iter().flat_map(|u| &u.files) {
            println!("cargo:rerun-if-changed={}", f.display());
        }
        if let Some(name) = self
            .prepared
            .keys()
            .find(|name| units.iter().all(|u| u.name != **name))
        {
            return Err(BuildError::UnknownUnit {
                name: name.clone(),
                folder: cx.root,
            });
        }
        let objects = compile::objects(&cx, &units)?;
        compile::archive(&cx, &library, &objects)?;
        output::sources(&cx, &units)?;
        let metallibs = metallib::libraries(&cx, &units)?;
        let text = output::generate(
            &cx,
            &library,
            &units,
            &metallibs,
            (&self.types, &self.cost_units, &self.prepared),
        )
        .map_err(|e| e.below(&cx.root))?;
        write_if_changed(&PathBuf::from(var("OUT_DIR")).join("kernels.rs"), &text)
    }
}

/// Writes the text of `file` in `folder` that Apple's compiler gets to a file of that name, without its folders, in
/// `OUT_DIR`: for functions that kernels made at run time call. Headers outside of `folder` would stand in it with their
/// path on this machine.
///
/// # Errors
/// [`BuildError::Rules`] and those of preprocessing.
pub fn embed(folder: &str, file: &str) -> Result<(), BuildError> {
    let var = |name: &str| env::var(name).unwrap_or_default();
    let root = Path::new(&var("CARGO_MANIFEST_DIR")).join(folder);
    let out = PathBuf::from(var("OUT_DIR"));
    println!("cargo:rerun-if-env-changed=OPENVM_METAL_CXX");
    let compiler = Compiler::find()?;
    let p = target_apple::text(Request {
        compiler: &compiler,
        root: &root,
        file: &root.join(file),
        metal_version: METAL_VERSION,
        folder: &out.join("text"),
    })?;
    for f in &p.files {
        println!("cargo:rerun-if-changed={}", f.display());
    }
    let mut scan = scan::scan(&p.tokens);
    scan.findings.extend(p.findings);
    let findings = lint::tokens(&p.tokens, &scan);
    if !findings.is_empty() {
        return Err(BuildError::Rules(findings).below(&root));
    }
    let name = Path::new(file).file_name().unwrap_or_default();
    write_if_changed(&out.join(name), &target_apple::embedded(&p.tokens))
}

/// Ends a build script with the error, each line readable in cargo's output.
pub fn fail(error: &BuildError) -> ! {
    for line in error.to_string().lines() {
        println!("cargo:warning={line}");
    }
    eprintln!("{error}");
    std::process::exit(1)
}
