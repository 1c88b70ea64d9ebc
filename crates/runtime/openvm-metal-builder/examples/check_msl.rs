//! Says what Apple's compiler may refuse: `check_msl [-I FOLDER] [--metal-version N] [--json] [--keys] [--prove SOURCE]
//! FILE|FOLDER...`
//!
//! Each `.metal` file is checked with every rule of `docs/reference/lint-rules.md` and its constructs are looked up in the census
//! (`docs/reference/census.md`). Prints what was found, and ends with 1 if that is anything; `--keys` prints every construct with its
//! proof, `--json` everything as JSON. `--prove SOURCE` is for files that Apple's compiler accepts: it prints the lines that
//! they would add to `census/proofs.tsv`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use openvm_metal_builder::{
    census::{self, Input, Proofs, Report},
    BuildError, Toolchain,
};

const USAGE: &str =
    "check_msl [-I FOLDER] [--metal-version N] [--json] [--keys] [--prove SOURCE] FILE|FOLDER...";

struct Options {
    root: Option<PathBuf>,
    metal_version: u32,
    json: bool,
    keys: bool,
    prove: Option<String>,
    paths: Vec<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut out = Options {
        root: None,
        metal_version: 300,
        json: false,
        keys: false,
        prove: None,
        paths: Vec::new(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(a) = args.next() {
        let mut value = || args.next().ok_or(format!("{a} needs a value; {USAGE}"));
        match a.as_str() {
            "-I" => out.root = Some(value()?.into()),
            "--metal-version" => {
                let text = value()?;
                let version = text.parse();
                out.metal_version =
                    version.map_err(|_| format!("`{text}` is no version: 300 is Metal 3.0"))?;
            }
            "--json" => out.json = true,
            "--keys" => out.keys = true,
            "--prove" => out.prove = Some(value()?),
            _ if a.starts_with('-') => return Err(format!("`{a}` is not known; {USAGE}")),
            _ => out.paths.push(a.into()),
        }
    }
    if out.paths.is_empty() {
        return Err(USAGE.into());
    }
    Ok(out)
}

fn inputs(o: &Options) -> Result<Vec<Input>, BuildError> {
    let mut out = Vec::new();
    for path in &o.paths {
        let mut found = if path.is_dir() {
            Input::folder(path)?
        } else {
            let root = path.parent().unwrap_or(Path::new("")).to_path_buf();
            let file = path.clone();
            vec![Input::File { root, file }]
        };
        if let Some(folder) = &o.root {
            for input in &mut found {
                if let Input::File { root, .. } = input {
                    root.clone_from(folder);
                }
            }
        }
        out.extend(found);
    }
    Ok(out)
}

/// Lines for the table of proofs: what these units have and the table has not.
fn prove(report: &Report, source: &str) {
    let known = Proofs::built_in();
    for k in report
        .keys
        .iter()
        .filter(|k| !known.keys.contains_key(&k.key))
    {
        println!("{}\t{source}\t{}:{}\t", k.key, k.file, k.line);
    }
}

fn main() -> ExitCode {
    let o = match options() {
        Ok(o) => o,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let run = || -> Result<Report, BuildError> {
        let scratch = std::env::temp_dir().join("openvm-metal-check-msl");
        let tools = Toolchain::new(scratch)?.with_metal_version(o.metal_version);
        if !census::available(tools.compiler()) {
            let tool = tools.compiler().program.clone();
            let message = "only clang prints its syntax tree: install clang, or name it with OPENVM_METAL_CXX".into();
            return Err(BuildError::Tool { tool, message });
        }
        let inputs = inputs(&o)?;
        match o.prove {
            Some(_) => census::check_all(&tools, &inputs),
            None => census::check(&tools, &inputs),
        }
    };
    let report = match run() {
        Ok(r) => r,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::from(2);
        }
    };
    if let Some(source) = &o.prove {
        prove(&report, source);
        return ExitCode::SUCCESS;
    }
    if o.json {
        println!("{}", report.json());
    } else {
        if o.keys {
            for k in &report.keys {
                println!("{}: {}", k.key, k.proof.as_deref().unwrap_or("not proven"));
            }
        }
        println!("{report}");
    }
    ExitCode::from(u8::from(!report.findings.is_empty()))
}
