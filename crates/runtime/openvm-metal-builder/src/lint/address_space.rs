//! Address spaces checked by clang: the source is compiled as C++ for OpenCL, whose address spaces are as strict.

use std::path::Path;

use crate::{
    codegen_cpp::Flavour,
    compiler::Compiler,
    error::{BuildError, Finding},
    lexer::Tokens,
    rewrite,
    scan::Scan,
    scope,
    shim::{self, ShimFolders},
};

/// C++ for OpenCL of a file.
pub fn translate(t: &Tokens, scan: &Scan) -> String {
    let body = rewrite::for_lint(t, scan, &scope::scopes(t));
    let mut out = String::from("#include \"lint_stdlib.h\"\n");
    // `lint_stdlib.h` declares what is in these, or does without.
    let declared = [
        "msl_float.h",
        "msl_geometric.h",
        "msl_quad.h",
        "msl_simdgroup_matrix.h",
    ];
    let needed = shim::on_demand(t);
    for header in needed.into_iter().filter(|h| !declared.contains(h)) {
        out.push_str(&format!("#include \"{header}\"\n"));
    }
    out + &body + "\n"
}

/// Compiler options without input.
pub fn options(shim: &ShimFolders) -> Vec<String> {
    let mut out: Vec<String> = [
        "-x",
        "cl",
        "-cl-std=clc++2021",
        "-cl-single-precision-constant",
        "-cl-no-stdinc",
        "--target=spir64",
        "-fsyntax-only",
        "-w",
        "-ferror-limit=40",
        "-fno-caret-diagnostics",
    ]
    .map(String::from)
    .to_vec();
    out.extend(Flavour::Lint.defines());
    out.push(format!("-I{}", shim.compile.display()));
    out
}

/// Checks the file; `scratch` is where the translation may be written.
pub fn check(
    compiler: &Compiler,
    shim: &ShimFolders,
    t: &Tokens,
    scan: &Scan,
    scratch: &Path,
) -> Result<Vec<Finding>, BuildError> {
    shim::write_if_changed(scratch, &translate(t, scan))?;
    let mut args = options(shim);
    args.push(scratch.display().to_string());
    match compiler.run(&args, scratch, "the address-space check") {
        Ok(_) => Ok(Vec::new()),
        Err(BuildError::Compile {
            file,
            target,
            messages,
        }) => {
            let found = findings(&messages);
            if found.is_empty() && !messages.contains("incompatible operand types") {
                return Err(BuildError::Compile {
                    file,
                    target,
                    messages,
                });
            }
            Ok(found)
        }
        Err(e) => Err(e),
    }
}

/// Reads clang's messages; those in headers of the shim are about the call in the kernel file, which a note names.
fn findings(messages: &str) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    for line in messages.lines() {
        let Some((place, message)) = line
            .split_once(": error: ")
            .or_else(|| line.split_once(": fatal error: "))
        else {
            if let Some(last) = out.last_mut() {
                if line.contains(": note: candidate") && line.contains("address space") {
                    (last.rule, last.remedy) = rule("address space");
                }
            }
            // The template that failed is instantiated from the kernel file.
            if let (Some((place, _)), Some(last)) =
                (line.split_once(": note: in instantiation"), out.last_mut())
            {
                if last.file.contains("shim") || last.file == shim::LANES_HEADER {
                    (last.file, last.line) = position(place);
                }
            }
            continue;
        };
        // `c ? p[i] : T(0)`: only OpenCL tells an object in memory from a temporary of the same class.
        if message.starts_with("incompatible operand types") {
            continue;
        }
        let (file, line) = position(place);
        let (rule, remedy) = rule(message);
        out.push(Finding {
            file,
            line,
            rule,
            message: message.to_string(),
            remedy,
        });
    }
    out
}

fn position(place: &str) -> (String, u32) {
    let mut parts = place.rsplitn(3, ':');
    let _column = parts.next();
    let line = parts.next().and_then(|l| l.parse().ok()).unwrap_or(0);
    (parts.next().unwrap_or(place).to_string(), line)
}

fn rule(message: &str) -> (&'static str, &'static str) {
    let has = |s: &str| message.contains(s);
    if has("at most 4 bytes") {
        ("shuffle-size", "shuffle 32-bit parts")
    } else if has("const-qualified") || has("read-only") {
        ("constant-write", "write to a `device` buffer without const")
    } else if has("address space")
        || has("__global")
        || has("__private")
        || has("__local")
        || has("__generic")
    {
        (
            "address-space-mix",
            "use the address space the pointer was declared with",
        )
    } else if has("recursion") || has("recursive") {
        ("recursion", "use a loop")
    } else if has("undeclared") || has("unknown type") || has("no matching") || has("no member") {
        (
            "unknown-name",
            "use what metal_stdlib and the crate's headers declare",
        )
    } else {
        ("metal-syntax", "write what Apple's compiler accepts too")
    }
}

/// True if the check can run with this compiler.
pub fn available(compiler: &Compiler) -> bool {
    compiler.is_clang() && !compiler.apple
}
