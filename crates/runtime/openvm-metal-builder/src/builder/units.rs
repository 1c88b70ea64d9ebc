//! The `.metal` files of a crate and what is wrong with them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::context::{identifier, Context, Unit};
use crate::{
    cache, clauses,
    codegen_cpp::Flavour,
    cost_units::CostUnits,
    error::{BuildError, Finding},
    lint, scan,
};

/// Finds, scans and checks all units.
pub(super) fn scan(
    cx: &Context,
    library: &str,
    cost_units: &CostUnits,
) -> Result<Vec<Unit>, BuildError> {
    let mut paths = Vec::new();
    metal_files(&cx.root, &mut paths)?;
    paths.sort();
    let scanned = cache::parallel(paths.len(), |i| {
        let file = paths[i].clone();
        let below = file
            .strip_prefix(&cx.root)
            .unwrap_or(&file)
            .with_extension("");
        let name = below.display().to_string().replace('\\', "/");
        let p = cx.apple(&file, &name)?;
        let mut scan = scan::scan(&p.tokens);
        scan.findings = p.findings;
        scan.findings = lint::tokens(&p.tokens, &scan);
        // Compilations that run side by side share it.
        cx.preprocess(&file, &name, Flavour::Scalar)?;
        Ok(Unit {
            scan,
            text: p.tokens,
            prefix: format!("{library}_{}", identifier(&name)),
            name,
            files: p.files,
            file,
        })
    });
    let units = all(scanned)?;
    // What is wrong with a header is found in each unit that includes it.
    let mut findings: Vec<Finding> = Vec::new();
    let missing: Vec<Finding> = units
        .iter()
        .flat_map(|u| [clauses::missing(&u.scan), cost_units.unknown(&u.scan)].concat())
        .collect();
    for found in units.iter().flat_map(|u| &u.scan.findings).chain(&missing) {
        if !findings.contains(found) {
            findings.push(found.clone());
        }
    }
    let mut seen = std::collections::HashMap::new();
    for u in &units {
        for e in &u.scan.entries {
            if let Some(other) = seen.insert(&e.name, &u.name) {
                let f = &u.scan.functions[e.function];
                findings.push(Finding {
                    file: f.file.clone(),
                    line: f.line,
                    rule: "kernel-name",
                    message: format!("kernel `{}` exists in `{other}.metal` too", e.name),
                    remedy:
                        "launchers are named after kernels: give each its own name in the crate",
                });
            }
        }
    }
    if findings.is_empty() {
        Ok(units)
    } else {
        Err(BuildError::Rules(findings))
    }
}

/// All results, or the first error; messages of several compilations are put together.
pub(super) fn all<T>(results: Vec<Result<T, BuildError>>) -> Result<Vec<T>, BuildError> {
    let mut out = Vec::new();
    let mut failed: Option<BuildError> = None;
    for r in results {
        match (r, &mut failed) {
            (Ok(v), _) => out.push(v),
            (Err(e), None) => failed = Some(e),
            (Err(_), Some(_)) => {}
        }
    }
    failed.map_or(Ok(out), Err)
}

pub(crate) fn metal_files(folder: &Path, out: &mut Vec<PathBuf>) -> Result<(), BuildError> {
    let entries = fs::read_dir(folder).map_err(|e| BuildError::io(folder, e))?;
    for entry in entries {
        let path = entry.map_err(|e| BuildError::io(folder, e))?.path();
        if path.is_dir() {
            metal_files(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "metal") {
            out.push(path);
        }
    }
    Ok(())
}
