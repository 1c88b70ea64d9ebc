//! Runs clang on a unit: its syntax tree, and what does not parse.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    thread,
};

use crate::{
    compiler::Compiler,
    error::{BuildError, Finding},
    lint::address_space::position,
};

/// Clang's view of a source.
pub struct Parsed {
    /// The syntax tree, as JSON.
    pub json: String,
    /// Findings for parts that do not parse.
    pub findings: Vec<Finding>,
}

/// Options for C++14 on a machine with the sizes of Metal's types; a number without suffix is a float.
const OPTIONS: &[&str] = &[
    "-x",
    "c++",
    "-std=c++14",
    "--target=arm64-apple-macosx13.0.0",
    "-undef",
    "-nostdinc",
    "-nostdinc++",
    "-fsyntax-only",
    "-ferror-limit=100",
    "-fno-caret-diagnostics",
    "-fno-color-diagnostics",
    "-fbracket-depth=256",
    "-Wno-everything",
    "-Werror=undef",
    // Features of later versions are warnings by default, and no other diagnostic.
    "-Werror=c++17-extensions",
    "-Werror=c++20-extensions",
    // Each target does otherwise with these.
    "-Werror=shift-count-overflow",
    "-Werror=shift-count-negative",
    "-Werror=division-by-zero",
    "-Werror=array-bounds",
    "-Werror=uninitialized",
    "-Wno-sometimes-uninitialized",
    "-Xclang",
    "-cl-single-precision-constant",
];

/// Parses `text`; with `tree`, the tree is asked for.
///
/// # Errors
/// [`BuildError::Tool`] if the compiler cannot be run, or ends without a message about the text.
pub fn parse(compiler: &Compiler, text: String, tree: bool) -> Result<Parsed, BuildError> {
    let failed = |message: String| BuildError::Tool {
        tool: compiler.program.clone(),
        message,
    };
    let mut command = Command::new(&compiler.program);
    command.args(OPTIONS);
    if tree {
        command.args(["-Xclang", "-ast-dump=json"]);
    }
    let mut child = command
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| failed(e.to_string()))?;
    let input = child.stdin.take();
    let writer = thread::spawn(move || input.map(|mut i| i.write_all(text.as_bytes())));
    let out = child
        .wait_with_output()
        .map_err(|e| failed(e.to_string()))?;
    // A compiler that stops reading says why itself.
    let _ = writer.join();
    let messages = String::from_utf8_lossy(&out.stderr);
    let findings = findings(&messages);
    let json = String::from_utf8_lossy(&out.stdout).into_owned();
    if json.is_empty() && findings.is_empty() && (tree || !out.status.success()) {
        return Err(failed(format!("ended with {}: {messages}", out.status)));
    }
    Ok(Parsed { json, findings })
}

/// True for an error of C++ about a construct that Metal has: conversions of vectors, and between `half` and `bfloat`.
fn is_metal(message: &str) -> bool {
    let has = |s: &str| message.contains(s);
    let component = message.strip_prefix("illegal vector component name ''");
    let component = component.and_then(|rest| rest.strip_suffix("''"));
    has("cast from vector") && components(message).is_none_or(|(from, to)| from == to)
        // Clang's comparisons give vectors of integers, and its vectors of bool have no components.
        || (has("bool4") || has("bool3") || has("bool2") || has("'bool' values")) && has("vector")
            && ["of type '", "invalid operands", "cannot convert between vector"]
                .iter()
                .any(|m| has(m))
        || component.is_some_and(|c| c.chars().all(|c| "xyzwrgba".contains(c)))
        || (has("static_cast from") && has("__bf16"))
        || (has("cannot be cast from type") && has("__bf16"))
}

/// Components of the two vectors of a message.
fn components(message: &str) -> Option<(&str, &str)> {
    let mut counts = message.split("(vector of ").skip(1);
    let mut count = || counts.next()?.split(' ').next();
    Some((count()?, count()?))
}

/// Reads clang's messages; one in the library's declarations is about the call in the unit that a note names.
pub fn findings(messages: &str) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    for line in messages.lines() {
        let error = line
            .split_once(": error: ")
            .or_else(|| line.split_once(": fatal error: "));
        if let Some((place, message)) = error {
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
        } else if let (Some((place, _)), Some(last)) =
            (line.split_once(": note: in instantiation"), out.last_mut())
        {
            if last.file == "metal_stdlib" {
                (last.file, last.line) = position(place);
            }
        }
    }
    out
}

/// Rule of code that has no meaning by the language.
pub const UNDEFINED: &str = "undefined";

fn rule(message: &str) -> (&'static str, &'static str) {
    let undefined = [
        "shift-count",
        "division-by-zero",
        "array-bounds",
        "uninitialized",
    ];
    if undefined
        .iter()
        .any(|w| message.ends_with(&format!("-W{w}]")) || message.contains(&format!("-W{w}-")))
    {
        return (
            UNDEFINED,
            "write what has one meaning: devices do otherwise with shifts by the width, reads past the end and unset values",
        );
    }
    ("flat-parse", remedy(message))
}

fn remedy(message: &str) -> &'static str {
    let has = |s: &str| message.contains(s);
    if has("C++17") || has("C++20") || has("C++2") {
        "Metal 3 is C++14: write it in C++14"
    } else if has("undeclared")
        || has("unknown type")
        || has("no template named")
        || has("no member")
    {
        "use what metal_stdlib and the unit's headers declare: on Apple GPUs nothing else is there"
    } else if has("ambiguous") || has("no matching function") {
        "convert the arguments to one type that the function is declared for"
    } else {
        "write what Apple's compiler accepts: C++14 with Metal's restrictions"
    }
}
