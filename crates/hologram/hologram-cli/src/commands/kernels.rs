//! `hologram kernels`: sources of the kernels, to read or to compile elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use hologram_backends::metal::LIBRARY;
use hologram_backends::translate::{emit_msl, Options};
use hologram_conformance::random::{generate, Features};
use hologram_conformance::table::cases;
use hologram_conformance::Promise;

use super::put;
use crate::error::{CliError, Result};

/// Arguments of `kernels`.
#[derive(Args, Debug)]
pub struct KernelsArgs {
    /// Write the source of each unit, as Apple's compiler gets it, to a file under this folder.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Write N translated programs: those of the instruction table first, then random ones.
    #[arg(long, value_name = "N", requires = "write", default_value_t = 0)]
    programs: usize,
}

/// Lists the units, or writes them.
///
/// # Errors
/// A folder or file that cannot be written, a program that cannot be translated.
pub fn run(args: &KernelsArgs) -> Result<()> {
    let Some(folder) = &args.write else {
        let lines = LIBRARY.units.iter().map(|unit| {
            let kernels: Vec<_> = unit.kernels.iter().map(|kernel| kernel.name).collect();
            format!("{}/{}: {}\n", LIBRARY.name, unit.name, kernels.join(", "))
        });
        return put(None, lines.collect::<String>().as_bytes());
    };
    let units = LIBRARY.units.iter();
    let mut sources: Vec<_> = units
        .map(|unit| {
            (
                format!("{}/{}", LIBRARY.name, unit.name),
                unit.msl.to_owned(),
            )
        })
        .collect();
    sources.extend(programs(args.programs)?);
    for (path, source) in &sources {
        write(&folder.join(format!("{path}.metal")), source)?;
    }
    let line = format!("{} files in {}\n", sources.len(), folder.display());
    put(None, line.as_bytes())
}

/// Programs translated for Apple GPUs, with a path for each.
fn programs(count: usize) -> Result<Vec<(String, String)>> {
    let mut all = Vec::with_capacity(count);
    for case in cases(Promise {
        doubles: false,
        ..Promise::ALL
    })
    .iter()
    .take(count)
    {
        let options = Options {
            apple: true,
            initial: case.initial(),
            ..Options::default()
        };
        let name = case.name().replace(' ', "-");
        let source = emit_msl(&case.program()?, &options)?;
        all.push((format!("programs/table-{name}"), source));
    }
    let features = Features {
        doubles: false,
        ..Features::default()
    };
    for seed in 0..count.saturating_sub(all.len()) as u64 {
        let case = generate(seed, &features)?;
        let registers = case.params.initial_registers.iter();
        let options = Options {
            apple: true,
            initial: registers.map(|&(register, ty, _)| (register, ty)).collect(),
            ..Options::default()
        };
        let source = emit_msl(&case.program, &options)?;
        all.push((format!("programs/random-{seed}"), source));
    }
    Ok(all)
}

fn write(path: &Path, source: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, source));
    written.map_err(|source| CliError::Write {
        path: path.display().to_string(),
        source,
    })
}
