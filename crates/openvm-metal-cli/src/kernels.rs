//! `openvm-metal kernels`: the kernel text in this program, to read or to compile elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use hologram_backends::translate::{emit_msl, Options};
use hologram_conformance::random::{generate, Features};
use hologram_conformance::table::cases;
use openvm_metal_common::kernel::KernelLibrary;

use crate::error::{CliError, Result};
use crate::table;

/// The libraries in this program.
const LIBRARIES: [&KernelLibrary; 2] = [
    &openvm_metal_backend::kernels::LIBRARY,
    &hologram_backends::metal::LIBRARY,
];

/// Options of `openvm-metal kernels`.
#[derive(Args)]
pub struct KernelsArgs {
    /// Write the text of every unit, as Apple's compiler gets it, to a file of its own under this folder.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Write so many of hologram's translated programs too: first those of the instruction table, then random ones.
    #[arg(long, value_name = "N", requires = "write", default_value_t = 0)]
    programs: usize,
}

/// Lists the units, or writes them.
///
/// # Errors
/// A folder or file that cannot be written.
pub fn run(args: &KernelsArgs) -> Result<()> {
    let Some(folder) = &args.write else {
        return list();
    };
    let mut written = 0;
    for library in LIBRARIES {
        for unit in library.units {
            let path = folder
                .join(library.name)
                .join(format!("{}.metal", unit.name));
            write(&path, unit.msl)?;
            written += 1;
        }
    }
    for (name, text) in programs(args.programs)? {
        write(
            &folder.join("programs").join(format!("{name}.metal")),
            &text,
        )?;
        written += 1;
    }
    table::line(format!("{written} files in {}", folder.display()))
}

fn list() -> Result<()> {
    let mut rows = table::table(&["unit", "kernels", "bytes"], &[2]);
    for library in LIBRARIES {
        for unit in library.units {
            let kernels: Vec<_> = unit.kernels.iter().map(|kernel| kernel.name).collect();
            rows.add_row([
                format!("{}/{}", library.name, unit.name),
                kernels.join(", "),
                unit.msl.len().to_string(),
            ]);
        }
    }
    table::line(rows)
}

/// Translated programs for Apple GPUs, with a name for each.
fn programs(count: usize) -> Result<Vec<(String, String)>> {
    let mut all = Vec::with_capacity(count);
    for case in cases(false).iter().take(count) {
        let options = Options {
            apple: true,
            initial: case.initial(),
            ..Options::default()
        };
        let name = case.name().replace(' ', "-");
        all.push((
            format!("table-{name}"),
            emit_msl(&case.program()?, &options)?,
        ));
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
        all.push((format!("random-{seed}"), emit_msl(&case.program, &options)?));
    }
    Ok(all)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|source| CliError::Write {
        path: path.display().to_string(),
        source,
    })
}
