//! `openvm-metal kernels`: sources of the kernels, to read or to compile elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use openvm_metal_backend::kernel_texts;
use openvm_metal_common::{
    kernel::{KernelLibrary, KernelUnit},
    DeviceKind,
};
use openvm_metal_sdk::engine::LIBRARIES;
use openvm_stark_backend::StarkEngine;
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security,
    baby_bear_poseidon2::{BabyBearPoseidon2RefEngine, DuplexSponge},
};

use crate::circuit::catalogue::{Circuit, CircuitName};
use crate::error::{CliError, Result};
use crate::table;

/// log2 of the stacked height of the circuits; their constraints do not depend on it.
const LOG_STACKED: usize = 21;

/// Options of `openvm-metal kernels`.
#[derive(Args)]
pub struct KernelsArgs {
    /// Write the source of each unit, as Apple's compiler gets it, to a file under FOLDER.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Write the constraint kernels of the built-in circuits too.
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
    let mut sources: Vec<_> = units()
        .map(|(library, unit)| {
            let path = format!("{}/{}", library.name, unit.name);
            (path, unit.msl.to_owned())
        })
        .collect();
    if args.circuits {
        sources.extend(constraint_kernels()?);
    }
    for (path, source) in &sources {
        write(&folder.join(format!("{path}.metal")), source)?;
    }
    table::line(format!("{} files in {}", sources.len(), folder.display()))
}

/// Units of all libraries, with their library.
fn units() -> impl Iterator<Item = (&'static KernelLibrary, &'static KernelUnit)> {
    let of = |library: &'static KernelLibrary| library.units.iter().map(move |u| (library, u));
    LIBRARIES.into_iter().flat_map(of)
}

fn list() -> Result<()> {
    let mut rows = table::table(&["unit", "kernels", "bytes"], &[2]);
    for (library, unit) in units() {
        let kernels: Vec<_> = unit.kernels.iter().map(|kernel| kernel.name).collect();
        rows.add_row([
            format!("{}/{}", library.name, unit.name),
            kernels.join(", "),
            unit.msl.len().to_string(),
        ]);
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

fn write(path: &Path, source: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, source));
    written.map_err(|source| CliError::Write {
        path: path.display().to_string(),
        source,
    })
}
