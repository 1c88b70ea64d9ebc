//! Options for NVIDIA PTX, and what is done to the text.

use std::{env, fs, path::Path};

use crate::{codegen_cpp::Flavour, compiler::Compiler, error::BuildError, shim::ShimFolders};

/// Whether PTX is wanted: `OPENVM_METAL_BUILD_PTX` = `1` (default) or `0`.
pub fn wanted() -> Result<bool, BuildError> {
    match env::var("OPENVM_METAL_BUILD_PTX")
        .unwrap_or_default()
        .as_str()
    {
        "" | "1" => Ok(true),
        "0" => Ok(false),
        v => Err(BuildError::Environment {
            variable: "OPENVM_METAL_BUILD_PTX",
            value: v.into(),
            expected: "0 or 1",
        }),
    }
}

/// True if the compiler can emit PTX.
pub fn available(compiler: &Compiler) -> bool {
    compiler.is_clang() && !compiler.apple
}

/// The first clang whose NVPTX target has `_Float16`; before it `__fp16` calculates as that does, if asked to.
const FLOAT16: u32 = 19;

/// Compiler options without input and output. sm_80 (A100) and later; PTX 8.0 (7.8 before clang 17), the driver compiles
/// it for the device.
pub fn options(compiler: &Compiler, shim: &ShimFolders) -> Vec<String> {
    let version = if compiler.major < 17 {
        "+ptx78"
    } else {
        "+ptx80"
    };
    let mut args: Vec<String> = [
        "--target=nvptx64-nvidia-cuda",
        "-march=sm_80",
        "-Xclang",
        "-target-feature",
        "-Xclang",
        version,
        "-std=c++17",
        "-O3",
        // A GPU's threads have no vectors; looking for some takes a twentieth of the time.
        "-fno-vectorize",
        "-fno-slp-vectorize",
        "-w",
        "-ffreestanding",
        "-nostdinc",
        "-fno-exceptions",
        "-fno-rtti",
        "-ffp-contract=fast",
        "-mllvm",
        "-inline-threshold=100000",
        "-S",
    ]
    .map(String::from)
    .to_vec();
    if compiler.major < FLOAT16 {
        for option in ["-fnative-half-type", "-fnative-half-arguments-and-returns"] {
            args.extend(["-Xclang".into(), option.into()]);
        }
    }
    if let Some(dir) = compiler.resource_include() {
        args.extend(["-isystem".into(), dir.display().to_string()]);
    }
    args.extend(Flavour::Ptx.defines());
    args.push(format!("-I{}", shim.compile.display()));
    args
}

/// The PTX of `file` in `output`. Code that would set constants before the first kernel is an error: no driver runs
/// it, the constants would be 0.
pub fn text(file: &Path, output: &Path) -> Result<String, BuildError> {
    let text = fs::read_to_string(output).map_err(|e| BuildError::io(output, e))?;
    if !text.contains("_GLOBAL__sub_I_") {
        return Ok(text);
    }
    Err(BuildError::Compile {
        file: file.to_path_buf(),
        target: "ptx".into(),
        messages: "a constant at namespace scope has a value that is not known when compiling; calculate it in a \
                   function, or write it out"
            .into(),
    })
}
