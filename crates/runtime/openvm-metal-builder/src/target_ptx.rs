//! Options for NVIDIA PTX, and what is done to the text.

use std::{env, fs, path::Path};

use crate::{
    cache,
    codegen_cpp::{Flavour, PTX_PREFIX},
    compiler::Compiler,
    error::BuildError,
    kernel_fn::Scan,
    shim::ShimFolders,
};

/// True if PTX is wanted: `OPENVM_METAL_BUILD_PTX` = `1` (default) or `0`.
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

/// The first clang whose NVPTX target has entry points outside of CUDA, and atomics without a library.
pub const OLDEST_CLANG: u32 = 17;

/// True if the compiler can emit PTX.
pub fn available(compiler: &Compiler) -> bool {
    compiler.is_clang()
        && !compiler.apple
        && (compiler.major == 0 || compiler.major >= OLDEST_CLANG)
}

/// The first clang whose NVPTX target has `_Float16`; before it `__fp16` calculates as that does, if asked to.
const FLOAT16: u32 = 19;

/// Compiler options without input and output. sm_80 (A100) and later; PTX 8.0, the driver compiles it for the device.
pub fn options(compiler: &Compiler, shim: &ShimFolders) -> Vec<String> {
    let mut args: Vec<String> = [
        "--target=nvptx64-nvidia-cuda",
        "-march=sm_80",
        "-Xclang",
        "-target-feature",
        "-Xclang",
        "+ptx80",
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

/// The first clang that writes tables of vectors of three elements with their padding.
const TABLES_OF_THREES: u32 = 23;

/// The PTX of `file` in `output`, which `source` was compiled to with `options`; its kernels have the registers that their clauses
/// allow. Two things would give wrong constants and are errors: code that would set them before the first kernel, which no driver
/// runs, and tables of vectors of three elements from a compiler that leaves their padding out.
pub fn text(
    compiler: &Compiler,
    options: &[String],
    scan: &Scan,
    file: &Path,
    source: &Path,
    output: &Path,
) -> Result<String, BuildError> {
    let text = fs::read_to_string(output).map_err(|e| BuildError::io(output, e))?;
    let wrong = |messages: String| BuildError::Compile {
        file: file.to_path_buf(),
        target: "ptx".into(),
        messages,
    };
    let text = with_registers(text, scan)
        .map_err(|kernel| wrong(format!("the code of `{kernel}` has no entry")))?;
    if text.contains("_GLOBAL__sub_I_") {
        return Err(wrong(
            "a constant at namespace scope has a value that is not known when compiling; calculate it in a function, or \
             write it out"
                .into(),
        ));
    }
    let metal = fs::read_to_string(source).map_err(|e| BuildError::io(source, e))?;
    if compiler.major >= TABLES_OF_THREES || !text.contains("] = {") || !names_threes(&metal) {
        return Ok(text);
    }
    let path = output.with_extension("ll");
    cache::cached(&path, &cache::hash(&[&text]), || {
        let mut args = options.to_vec();
        args.extend(["-emit-llvm", "-o"].map(String::from));
        args.extend([path.display().to_string(), source.display().to_string()]);
        compiler.run(&args, file, "ptx").map(|_| ())
    })?;
    let ir = fs::read_to_string(&path).map_err(|e| BuildError::io(path, e))?;
    match table_of_threes(&ir) {
        Some(name) => Err(wrong(format!(
            "{} writes the table `{name}` of vectors of three elements wrongly for NVIDIA GPUs; use vectors of four \
             elements, packed vectors, or clang {TABLES_OF_THREES}",
            compiler.version
        ))),
        None => Ok(text),
    }
}

/// The text with directives for kernels that say how many registers a thread may have: no attribute of clang's does so outside of CUDA.
/// The name of a kernel that has no entry is the error.
fn with_registers(mut text: String, scan: &Scan) -> Result<String, String> {
    for entry in &scan.entries {
        let Some(registers) = scan.functions[entry.function].clauses.registers else {
            continue;
        };
        let start = format!(".entry {PTX_PREFIX}{}(", entry.name);
        let body = text
            .find(&start)
            .and_then(|at| Some(at + text[at..].find("\n{")?));
        let body = body.ok_or_else(|| entry.name.clone())?;
        text.insert_str(body, &format!("\n.maxnreg {registers}"));
    }
    Ok(text)
}

/// True if a source names a vector type of three elements, or a matrix with such columns.
fn names_threes(text: &str) -> bool {
    let scalars = "bool char uchar short ushort int uint long ulong half float bfloat";
    let named = |word: &str| {
        let base = word.strip_suffix('3').unwrap_or_default();
        let base = ["2x", "3x", "4x"]
            .iter()
            .find_map(|columns| base.strip_suffix(columns))
            .unwrap_or(base);
        scalars.split(' ').any(|s| s == base) || matches!(word, "vec" | "matrix")
    };
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(named)
}

/// The first constant in LLVM's text that has vectors of three elements inside an array or struct.
fn table_of_threes(ir: &str) -> Option<&str> {
    let constant = |line: &'_ str| line.contains(" constant ") || line.contains(" global ");
    let inside = |line: &str| {
        let (_, value) = line
            .split_once(" constant ")
            .or(line.split_once(" global "))?;
        (value.contains("<3 x ") && !value.starts_with("<3 x ")).then_some(())
    };
    let line = ir
        .lines()
        .find(|l| l.starts_with('@') && constant(l) && inside(l).is_some())?;
    line[1..].split(' ').next().map(last_name)
}

/// `kRows` of `_ZN12_GLOBAL__N_15kRowsE`: lengths stand before the names in C++'s symbols.
fn last_name(symbol: &str) -> &str {
    let mut rest = symbol.trim_start_matches("_ZN").trim_start_matches("_ZL");
    let mut name = symbol;
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&e| e > 0) {
        let length = rest[..end].parse().unwrap_or(0);
        let Some(found) = rest.get(end..end + length) else {
            break;
        };
        (name, rest) = (found, &rest[end + length..]);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_the_registers_that_they_ask_for() {
        let source = "#include <metal_stdlib>\nusing namespace metal;\n\
            /// Registers: 40 per thread.\nkernel void few(device uint* a [[buffer(0)]]) {}\n\
            kernel void many(device uint* a [[buffer(0)]]) {}\n";
        let scan = crate::scan::scan(&crate::lexer::Tokens::new(source.to_owned()));
        assert!(scan.findings.is_empty(), "{:?}", scan.findings);
        let entry = |name: &str| format!(".visible .entry msl_{name}(\n\t.param .u64 a\n)\n");
        let ptx = format!("{}{{\n}}\n{}{{\n}}\n", entry("many"), entry("few"));
        let limited = with_registers(ptx, &scan).unwrap();
        let many = entry("many");
        let few = format!("{}\n.maxnreg 40\n{{\n", entry("few").trim_end());
        assert!(
            limited.contains(&few) && limited.starts_with(&many),
            "{limited}"
        );
        assert_eq!(limited.matches(".maxnreg").count(), 1);
        assert_eq!(with_registers(entry("many"), &scan), Err("few".into()));
    }

    #[test]
    fn types_of_threes_are_found() {
        for text in ["constant float3 a;", "half2x3(1)", "metal::vec<T, 3>"] {
            assert!(names_threes(text), "{text}");
        }
        assert!(!names_threes(
            "float4 a3; float3x2 b; packed_float3 c; kernel3"
        ));
    }

    #[test]
    fn tables_of_threes_are_found() {
        let plain = "@a = internal constant [2 x <4 x float>] [], align 16\n\
                     @b = internal constant <3 x float> <float 1.0, float 2.0, float 3.0>, align 16\n\
                     define void @f(<3 x float> %x) { constant <3 x }\n";
        assert_eq!(table_of_threes(plain), None);
        let table = "@t = internal unnamed_addr constant [2 x <3 x float>] [], align 16\n";
        assert_eq!(table_of_threes(&format!("{plain}{table}")), Some("t"));
        let member = "@s = internal constant %struct.S { <3 x half> zeroinitializer, half 1.0 }";
        assert_eq!(table_of_threes(member), Some("s"));
        assert_eq!(last_name("_ZN12_GLOBAL__N_15kRowsE"), "kRows");
        assert_eq!(last_name("_ZN12_GLOBAL__N_11a5kRowsE"), "kRows");
        assert_eq!(last_name("_ZL2ab"), "ab");
        assert_eq!(last_name("_Z99x"), "_Z99x");
    }
}
