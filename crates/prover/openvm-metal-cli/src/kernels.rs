//! `openvm-metal kernels`: the kernel text in this program, to read or to compile elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hologram_backends::translate::{emit_msl, Options};
use hologram_conformance::random::{generate, Features};
use hologram_conformance::table::cases;
use openvm_metal_backend::kernel_texts;
use openvm_metal_common::{kernel::KernelLibrary, DeviceKind};
use openvm_stark_backend::StarkEngine;
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security,
    baby_bear_poseidon2::{BabyBearPoseidon2RefEngine, DuplexSponge},
};

use crate::circuit::catalogue::{Circuit, CircuitName};
use crate::error::{CliError, Result};
use crate::table;

/// The libraries in this program.
const LIBRARIES: [&KernelLibrary; 2] = [
    &openvm_metal_backend::kernels::LIBRARY,
    &hologram_backends::metal::LIBRARY,
];

/// log2 of the stacked height of the circuits; their constraints do not depend on it.
const LOG_STACKED: usize = 21;

/// Options of `openvm-metal kernels`.
#[derive(Args)]
pub struct KernelsArgs {
    /// Write the text of every unit, as Apple's compiler gets it, to a file of its own under this folder.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Write so many of hologram's translated programs too: first those of the instruction table, then random ones.
    #[arg(long, value_name = "N", requires = "write", default_value_t = 0)]
    programs: usize,
    /// Write the kernels that are written for the constraints of the built-in circuits too.
    #[arg(long, requires = "write")]
    circuits: bool,
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
    let mut made = programs(args.programs)?;
    if args.circuits {
        made.extend(constraint_kernels()?);
    }
    for (path, text) in made {
        write(&folder.join(format!("{path}.metal")), &text)?;
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

/// Kernels for the constraints of the built-in circuits on Apple GPUs, with a path for each unit.
fn constraint_kernels() -> Result<Vec<(String, String)>> {
    let params = app_params_with_100_bits_security(LOG_STACKED);
    let reference = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(params);
    let mut all = Vec::new();
    for &name in CircuitName::value_variants() {
        let circuit = Circuit::new(name, 1, reference.config());
        let (pk, _) = reference.keygen(&circuit.airs);
        for (i, text) in kernel_texts(DeviceKind::Metal, &pk)?
            .into_iter()
            .enumerate()
        {
            all.push((format!("constraints/{name}-{i}"), text));
        }
    }
    Ok(all)
}

/// Translated programs for Apple GPUs, with a path for each.
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
            format!("programs/table-{name}"),
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
        let text = emit_msl(&case.program, &options)?;
        all.push((format!("programs/random-{seed}"), text));
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
