//! Options for native code.

use std::env;

use crate::{codegen_cpp::Flavour, compiler::Compiler, error::BuildError, shim::ShimFolders};

/// Instruction sets, as `CpuIsa` of `openvm-metal-common`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// x86-64-v4
    X86V4,
    /// x86-64-v3
    X86V3,
    /// x86-64-v2
    X86V2,
    /// AArch64
    Neon,
    /// Anything else
    Generic,
}

impl Isa {
    /// Suffix of symbols and objects.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::X86V4 => "v4",
            Self::X86V3 => "v3",
            Self::X86V2 => "v2",
            Self::Neon => "neon",
            Self::Generic => "generic",
        }
    }

    /// Name of the variant of `CpuIsa`.
    pub fn variant(self) -> &'static str {
        match self {
            Self::X86V4 => "X86V4",
            Self::X86V3 => "X86V3",
            Self::X86V2 => "X86V2",
            Self::Neon => "Neon",
            Self::Generic => "Generic",
        }
    }

    /// 32-bit lanes of a vector.
    pub fn lanes(self) -> u32 {
        match self {
            Self::X86V4 => 16,
            Self::X86V3 => 8,
            _ => 4,
        }
    }

    /// Instruction sets to build for on architecture `arch`, best first: those that `OPENVM_METAL_BUILD_ISA`
    /// names.
    ///
    /// # Errors
    /// [`BuildError::Environment`] for a value that [`of_list`](Self::of_list) refuses.
    pub fn selected(arch: &str) -> Result<Vec<Self>, BuildError> {
        let value = env::var("OPENVM_METAL_BUILD_ISA").unwrap_or_default();
        Self::of_list(arch, &value).ok_or(BuildError::Environment {
            variable: "OPENVM_METAL_BUILD_ISA",
            value,
            expected: "all, native, or a list of v4, v3, v2 (x86-64), neon (AArch64)",
        })
    }

    /// The instruction sets of architecture `arch` that a list names: `all` (or nothing), `native` (the best of
    /// this machine), or names such as `v4,v2`. One list serves builds for several architectures: names of
    /// another count for nothing, and an architecture of which the list names no set has all of its own. `None`
    /// for a name that no architecture has, and for one that stands there twice.
    fn of_list(arch: &str, list: &str) -> Option<Vec<Self>> {
        const X86: [Isa; 3] = [Isa::X86V4, Isa::X86V3, Isa::X86V2];
        let all: &[Self] = match arch {
            "x86_64" => &X86,
            "aarch64" => &[Self::Neon],
            _ => &[Self::Generic],
        };
        match list {
            "" | "all" => return Some(all.to_vec()),
            "native" => return Some(vec![native(all)]),
            _ => {}
        }
        let mut named = Vec::new();
        for name in list.split(',').map(str::trim) {
            let mut known = X86.iter().chain(&[Self::Neon, Self::Generic]);
            let isa = known.find(|isa| isa.suffix() == name)?;
            if named.contains(isa) {
                return None;
            }
            named.push(*isa);
        }
        let picked: Vec<Self> = all.iter().copied().filter(|i| named.contains(i)).collect();
        Some(if picked.is_empty() {
            all.to_vec()
        } else {
            picked
        })
    }

    /// The best of `isas` that this machine has.
    pub fn best(isas: &[Self]) -> Self {
        native(isas)
    }

    fn machine_options(self, target: &str) -> Vec<&'static str> {
        match self {
            Self::X86V4 => vec!["-march=x86-64-v4", "-mprefer-vector-width=512"],
            Self::X86V3 => vec!["-march=x86-64-v3"],
            Self::X86V2 => vec!["-march=x86-64-v2"],
            Self::Neon if target.contains("apple") => vec!["-mcpu=apple-m1"],
            Self::Neon | Self::Generic => vec![],
        }
    }
}

fn native(all: &[Isa]) -> Isa {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let v3 = has!("avx2") && has!("bmi2") && has!("fma");
        let v4 = v3 && has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
        for (isa, ok) in [(Isa::X86V4, v4), (Isa::X86V3, v3)] {
            if ok && all.contains(&isa) {
                return isa;
            }
        }
    }
    all[all.len() - 1]
}

/// Oldest macOS that Rust's own objects run on; newer objects beside them make the linker complain, and
/// without a version clang takes one from before thread-local variables.
const OLDEST_MACOS: &str = "11.0";

/// Clang's triple with a version for a target of Rust that is macOS.
fn macos_triple(target: &str) -> Option<String> {
    let architecture = match target.strip_suffix("-apple-darwin")? {
        "aarch64" => "arm64",
        other => other,
    };
    let version = env::var("MACOSX_DEPLOYMENT_TARGET").ok();
    let version = version.filter(|v| !v.is_empty());
    let version = version.as_deref().unwrap_or(OLDEST_MACOS);
    Some(format!("{architecture}-apple-macosx{version}"))
}

/// Compiler options for one flavour on one instruction set, without input and output. `ends_only`: the
/// scalar tail kernels of lane kernels, which get only the threads that fill no vector.
pub fn options(
    compiler: &Compiler,
    shim: &ShimFolders,
    flavour: Flavour,
    ends_only: bool,
    isa: Isa,
    target: &str,
    cross: bool,
) -> Vec<String> {
    let mut args: Vec<String> = ["-std=c++17", "-fPIC", "-fno-exceptions", "-fno-rtti", "-w"]
        .map(String::from)
        .to_vec();
    let level = match flavour {
        Flavour::Fiber => "-O1",
        Flavour::Probe => "-O0",
        // g++ takes minutes for large vector kernels at -O3.
        _ if ends_only || !compiler.is_clang() => "-O2",
        _ => "-O3",
    };
    args.push(level.into());
    // Metal's char has a sign on Arm too.
    args.push("-fsigned-char".into());
    args.extend(isa.machine_options(target).into_iter().map(String::from));
    if matches!(isa, Isa::X86V4 | Isa::X86V3) {
        // Callers align the stack to 16 bytes. Vectors that clang spills lie across two cache lines unless the function aligns it.
        args.push("-mstackrealign".into());
    }
    if compiler.is_clang() {
        args.extend(["-fno-slp-vectorize", "-fno-math-errno"].map(String::from));
        let lanes = matches!(flavour, Flavour::Lanes(_));
        if matches!(level, "-O2" | "-O3") {
            // Small functions are inlined; a whole permutation stays a function. For processors without AVX2 and for
            // tail kernels, inlining more is not worth half a minute of compilation.
            let threshold = if lanes && isa != Isa::X86V2 {
                2000
            } else {
                500
            };
            args.extend(["-mllvm".into(), format!("-inline-threshold={threshold}")]);
        }
        if lanes && isa == Isa::X86V3 {
            // Sixteen registers: the order of the text keeps more of them in use than clang's, which makes chains of dependent products.
            args.extend(["-mllvm", "-enable-misched=0"].map(String::from));
        }
        if lanes || ends_only {
            // Lanes are vectors already.
            args.push("-fno-vectorize".into());
        }
        if let Some(triple) = macos_triple(target) {
            args.push(format!("--target={triple}"));
        } else if cross {
            args.push(format!("--target={target}"));
        }
        // The shim needs the compiler's own headers only, so any target can be compiled for.
        if let Some(dir) = compiler.resource_include() {
            args.extend([
                "-nostdinc".into(),
                "-isystem".into(),
                dir.display().to_string(),
            ]);
        }
    } else {
        args.extend(["-fno-math-errno", "-Wno-psabi"].map(String::from));
    }
    args.extend(flavour.defines());
    args.push(format!("-I{}", shim.compile.display()));
    args
}

#[cfg(test)]
mod tests {
    use super::macos_triple;

    #[test]
    fn macs_have_a_version() {
        let version = std::env::var("MACOSX_DEPLOYMENT_TARGET");
        let version = version.unwrap_or_else(|_| "11.0".into());
        let triple = |arch: &str| Some(format!("{arch}-apple-macosx{version}"));
        assert_eq!(macos_triple("aarch64-apple-darwin"), triple("arm64"));
        assert_eq!(macos_triple("x86_64-apple-darwin"), triple("x86_64"));
        assert_eq!(macos_triple("aarch64-apple-ios"), None);
        assert_eq!(macos_triple("x86_64-unknown-linux-gnu"), None);
    }

    /// Catches a build for two architectures that fails, or that lacks kernels, because a list names sets of one of them.
    #[test]
    fn one_list_serves_all_architectures() {
        use super::Isa::{self, Generic, Neon, X86V2, X86V3, X86V4};

        let (x86, arm) = ("x86_64", "aarch64");
        let of = Isa::of_list;
        assert_eq!(of(x86, ""), Some(vec![X86V4, X86V3, X86V2]));
        assert_eq!(of(x86, "v2, v4"), Some(vec![X86V4, X86V2]));
        assert_eq!(of(arm, "v4,v2"), Some(vec![Neon]));
        assert_eq!(of(x86, "v3,neon"), Some(vec![X86V3]));
        assert_eq!(of(arm, "v3,neon"), Some(vec![Neon]));
        assert_eq!(of(x86, "neon"), Some(vec![X86V4, X86V3, X86V2]));
        assert_eq!(of("riscv64", "v4"), Some(vec![Generic]));
        for wrong in ["v5", "v4,v5", "v4,v4", "v4,", "ALL", "avx2"] {
            assert_eq!(of(x86, wrong), None, "{wrong}");
            assert_eq!(of(arm, wrong), None, "{wrong}");
        }
    }
}
