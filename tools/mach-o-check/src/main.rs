//! `mach-o-check`: whether a Mac would load the files of a release.
//!
//! Exit status: 0 every file keeps the promise, 1 a finding or an unreadable file, 2 wrong usage.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use mach_o_check::{check, Image, Promise, Stubs};

/// Reads Mach-O files and says whether a Mac would load and run them.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Folder with the text stubs (.tbd) of the system's libraries.
    #[arg(long)]
    stubs: PathBuf,
    /// Oldest macOS that the files must run on.
    #[arg(long, default_value = "13.0")]
    minimum: String,
    /// A text that may not stand in the files, such as the folder they were built in.
    #[arg(long = "forbid", value_name = "TEXT")]
    forbidden: Vec<String>,
    /// A library or framework that every file must load, such as Metal.
    #[arg(long, value_name = "NAME")]
    needs: Vec<String>,
    /// A Python module.
    #[arg(long = "python", value_name = "FILE")]
    modules: Vec<PathBuf>,
    /// Programs.
    programs: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool, Box<dyn std::error::Error>> {
    if args.programs.is_empty() && args.modules.is_empty() {
        return Err("no file was given".into());
    }
    let stubs = Stubs::read(&args.stubs)?;
    let mut used = Vec::new();
    let mut good = true;
    let programs = args.programs.iter().map(|path| (path, false));
    for (path, python) in programs.chain(args.modules.iter().map(|path| (path, true))) {
        let promise = Promise {
            stubs: &stubs,
            minimum: &args.minimum,
            python,
            needs: &args.needs,
            forbidden: &args.forbidden,
        };
        good &= file(path, &promise, &mut used);
    }
    let idle = stubs
        .symbols()
        .filter(|(_, symbol)| !used.iter().any(|name| name == symbol))
        .map(|(_, symbol)| symbol)
        .collect::<Vec<_>>();
    if !idle.is_empty() {
        println!("stubs that no file needs: {}", idle.join(" "));
    }
    Ok(good)
}

/// Reports one file; false if anything is wrong with it.
fn file(path: &Path, promise: &Promise, used: &mut Vec<String>) -> bool {
    let read = std::fs::read(path).map_err(|error| error.to_string());
    let image = read.and_then(|bytes| {
        let image = Image::read(&bytes).map_err(|error| error.to_string())?;
        Ok((bytes, image))
    });
    let (bytes, image) = match image {
        Ok(read) => read,
        Err(error) => {
            println!("{}: {error}", path.display());
            return false;
        }
    };
    println!("{}: {}, {} bytes", path.display(), image.kind, bytes.len());
    for build in &image.builds {
        println!("  oldest macOS {}, SDK {}", build.minimum, build.sdk);
    }
    println!("  load commands: {}", runs(&image.commands));
    for (library, _) in &image.libraries {
        let of = |source: &mach_o_check::Source| matches!(source, mach_o_check::Source::Library(name) if name == library);
        let symbols = image.imports.iter().filter(|i| of(&i.source)).count();
        println!("  {library}: {symbols} symbols");
    }
    if let Some(signature) = &image.signature {
        println!(
            "  signature of `{}`: {} pages, {} bytes",
            signature.identifier, signature.pages, signature.code_limit
        );
    }
    used.extend(image.imports.iter().map(|import| import.symbol.clone()));
    let findings = check(&image, &bytes, promise);
    for finding in &findings {
        println!("  WRONG: {finding}");
    }
    if findings.is_empty() {
        println!("  ok");
    }
    findings.is_empty()
}

/// Names with how often they stand in a row.
fn runs(names: &[String]) -> String {
    let chunks = names.chunk_by(|a, b| a == b).map(|run| match run {
        [one] => one.clone(),
        many => format!("{} x {}", many.len(), many[0]),
    });
    chunks.collect::<Vec<_>>().join(", ")
}
