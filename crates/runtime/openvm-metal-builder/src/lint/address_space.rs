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
            if found.is_empty() && !messages.lines().any(is_metal) {
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
        if is_metal(message) {
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

/// True for errors about what Metal has: temporaries, which have no address space in OpenCL and are memory of the thread in
/// Metal, and references to elements of tables.
fn is_metal(message: &str) -> bool {
    is_temporary_choice(message) || is_temporary_object(message) || is_element(message)
}

/// The error for a reference or pointer to an element of a table: only OpenCL tells tables from constant buffers.
fn is_element(message: &str) -> bool {
    let Some((_, types)) = message
        .split_once("binding reference of type ")
        .or_else(|| message.split_once("cannot initialize a variable of type "))
    else {
        return false;
    };
    let [wanted, given] = quoted(types, true)[..] else {
        return false;
    };
    let wanted_is_constant = wanted.contains("__global_device");
    let (wanted, given) = (wanted.replace("*__private", "*"), Spaced::of(given));
    wanted_is_constant && given.space == Some("__constant") && given.ty == Spaced::of(&wanted).ty
}

/// The error for a member function marked `thread` that is called on the result of another.
fn is_temporary_object(message: &str) -> bool {
    let Some((_, types)) = message.split_once("cannot initialize object parameter of type ") else {
        return false;
    };
    let [wanted, given] = quoted(types, true)[..] else {
        return false;
    };
    wanted.contains("__private") && !given.contains("__")
}

/// The error for `c ? p[i] : T(0)`: only OpenCL tells an object in memory from a temporary of the same class. The census has
/// keys for the spaces of both. Objects in two spaces, and different types, remain errors.
fn is_temporary_choice(message: &str) -> bool {
    let Some((_, operands)) = message.split_once("incompatible operand types (") else {
        return false;
    };
    let [first, second] = quoted(operands, true)[..] else {
        return false;
    };
    let (first, second) = (Spaced::of(first), Spaced::of(second));
    first.ty == second.ty && (first.space.is_none() || second.space.is_none())
}

/// Texts between apostrophes; of `'a' (aka 'b')` the last if names are `resolved`.
fn quoted(message: &str, resolved: bool) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    let parts: Vec<&str> = message.split('\'').collect();
    for (i, part) in parts.iter().enumerate().skip(1).step_by(2) {
        if resolved && parts[i - 1].ends_with("(aka ") {
            out.pop();
        }
        out.push(part);
    }
    out
}

/// A type of clang's messages.
#[derive(PartialEq)]
struct Spaced<'a> {
    /// Address space of memory that outlives a call: `__global`, `__constant` or `__local`.
    space: Option<&'a str>,
    /// A type without space and `const`.
    ty: String,
}

impl<'a> Spaced<'a> {
    fn of(text: &'a str) -> Self {
        let words = || text.split_whitespace();
        let shared = |w: &&str| matches!(*w, "__global" | "__constant" | "__local");
        let bare = words().filter(|w| !w.starts_with("__") && *w != "const");
        Self {
            space: words().find(shared),
            ty: bare.collect::<Vec<_>>().join(" "),
        }
    }

    /// Elements of a vector by the name of their type: `uint` of `uint4`.
    fn vector(&self) -> Option<&str> {
        let name = self.ty.strip_suffix(['2', '3', '4'])?;
        let numbers = [
            "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float",
        ];
        numbers.contains(&name).then_some(name)
    }
}

/// True if an error is about vectors whose elements differ: they are not converted implicitly.
fn mixes_vectors(message: &str) -> bool {
    let types: Vec<Spaced<'_>> = quoted(message, false).into_iter().map(Spaced::of).collect();
    types.iter().enumerate().any(|(i, a)| {
        types[i + 1..]
            .iter()
            .any(|b| a.vector().is_some() && b.vector().is_some() && a.vector() != b.vector())
    })
}

/// File and line of a place in a compiler's message, `file:line:column`.
pub(crate) fn position(place: &str) -> (String, u32) {
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
    } else if mixes_vectors(message) {
        (
            "metal-syntax",
            "convert the vector: `uint4(v)` for its values, `as_type<uint4>(v)` for its bits",
        )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_an_object_and_a_temporary_is_left_to_the_census() {
        for (text, left) in [
            ("incompatible operand types ('__global Fp' and 'Fp')", true),
            ("incompatible operand types ('Fp' and 'const __local Fp')", true),
            (
                "incompatible operand types ('const __global Ext' (aka 'const __global ExtT<unsigned int>') and 'ExtT<unsigned int>')",
                true,
            ),
            ("incompatible operand types ('__global Fp' and '__local Fp')", false),
            ("incompatible operand types ('__global Fp' and 'Other')", false),
            ("something else", false),
        ] {
            assert_eq!(is_temporary_choice(text), left, "{text}");
        }
        let object = |given: &str| {
            is_metal(&format!(
                "cannot initialize object parameter of type 'const __private Fp' with an expression of type '{given}'"
            ))
        };
        assert!(object("Fp") && !object("__global Fp") && !object("const __constant Fp"));
        let found = findings(
            "k.metal:4:5: error: incompatible operand types ('__global Fp' and '__local Fp')",
        );
        assert_eq!((found[0].rule, found[0].line), ("address-space-mix", 4));
    }

    #[test]
    fn an_element_of_a_table_is_constant() {
        let bound = |wanted: &str, given: &str| {
            is_metal(&format!(
                "binding reference of type '{wanted}' to value of type '{given}' changes address space"
            ))
        };
        assert!(bound("const __global_device Tap", "const __constant Tap"));
        assert!(!bound("const __global_host Tap", "const __constant Tap"));
        assert!(!bound("const __global_device Tap", "__global_host Tap"));
        assert!(!bound("const __global_device int", "const __constant Tap"));
        assert!(is_metal(
            "cannot initialize a variable of type 'const __global_device uint *__private' (aka 'const __global_device unsigned int *__private') with an rvalue of type 'const __constant uint *' (aka 'const __constant unsigned int *')"
        ));
    }

    #[test]
    fn vectors_of_other_elements_have_their_own_remedy() {
        let text = "cannot initialize a variable of type '__private uint4' (aka '__private uint __attribute__((ext_vector_type(4)))') with an lvalue of type '__private int4'";
        let (rule, remedy) = rule(text);
        assert_eq!(rule, "metal-syntax");
        assert!(remedy.contains("as_type<uint4>"));
        let spaces = "cannot initialize a variable of type '__private uint4 *' with an rvalue of type '__global uint4 *'";
        assert_eq!(super::rule(spaces).0, "address-space-mix");
    }
}
