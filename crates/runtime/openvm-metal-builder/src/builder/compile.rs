//! Native objects and PTX of all units.

use std::{env, fs, path::PathBuf, process::Command};

use super::{
    context::{Context, Unit},
    units::all,
};
use crate::{
    cache,
    codegen_cpp::{self, Flavour, Prefixes},
    codegen_rust,
    error::BuildError,
    lexer::Tokens,
    rewrite, scan,
    shim::write_if_changed,
    target_cpu::{self, Isa},
    target_ptx,
};

#[derive(Clone, Copy)]
enum Task {
    Cpu(usize, Flavour, Isa),
    Ptx(usize),
}

/// Compiles everything that clang or g++ makes; gives the objects to link.
pub(super) fn objects(cx: &Context, units: &[Unit]) -> Result<Vec<PathBuf>, BuildError> {
    let mut tasks = Vec::new();
    for (n, u) in units.iter().enumerate() {
        let kinds = || {
            u.scan
                .entries
                .iter()
                .map(|e| u.scan.functions[e.function].kind)
        };
        if kinds().next().is_none() {
            continue;
        }
        for &isa in &cx.isas {
            if kinds().any(scan::Kind::lanes) {
                tasks.push(Task::Cpu(n, Flavour::Lanes(isa.lanes()), isa));
            }
            let baseline = codegen_rust::baseline_isa(&cx.isas) == Some(isa);
            if baseline || !kinds().all(scan::Kind::lanes) {
                tasks.push(Task::Cpu(n, Flavour::Scalar, isa));
            }
        }
        if let Some(isa) = codegen_rust::baseline_isa(&cx.isas) {
            if kinds().any(scan::Kind::barriers) {
                tasks.push(Task::Cpu(n, Flavour::Fiber, isa));
            }
            tasks.push(Task::Cpu(n, Flavour::Probe, isa));
        }
        if cx.ptx {
            tasks.push(Task::Ptx(n));
        }
    }
    // The longest first, so that no processor is left with one at the end.
    tasks.sort_by_key(|task| match task {
        Task::Cpu(_, Flavour::Lanes(lanes), _) => 16 - lanes,
        Task::Ptx(_) => 16,
        Task::Cpu(..) => 17,
    });
    let done = cache::parallel(tasks.len(), |i| match tasks[i] {
        Task::Cpu(n, flavour, isa) => cpu(cx, &units[n], flavour, isa).map(Some),
        Task::Ptx(n) => {
            let u = &units[n];
            let p = cx.preprocess(&u.file, &u.name, Flavour::Ptx)?;
            let text = codegen_cpp::unit(
                &p.tokens,
                &scan::scan(&p.tokens),
                Flavour::Ptx,
                Prefixes::default(),
            );
            let mut options = target_ptx::options(&cx.compiler, &cx.shim);
            options.extend(contraction(&p.tokens));
            let output = cx.product(&u.name, "compiled.ptx");
            cx.compile(u, &text, &options, &output, "ptx")?;
            let (scan, source) = (&u.scan, output.with_extension("cpp"));
            let text = target_ptx::text(&cx.compiler, &options, scan, &u.file, &source, &output)?;
            write_if_changed(&cx.product(&u.name, "kernels.ptx"), &text)?;
            Ok(None)
        }
    });
    Ok(all(done)?
        .into_iter()
        .flatten()
        .filter(|p| p.extension().is_some_and(|e| e == "o"))
        .collect())
}

fn cpu(cx: &Context, u: &Unit, flavour: Flavour, isa: Isa) -> Result<PathBuf, BuildError> {
    let p = cx.preprocess(&u.file, &u.name, flavour)?;
    let prefix = |isa: Isa| format!("{}_{}", u.prefix, isa.suffix());
    let baseline = codegen_rust::baseline_isa(&cx.isas).unwrap_or(isa);
    let prefixes = Prefixes {
        own: &prefix(isa),
        tails: &prefix(baseline),
    };
    let text = codegen_cpp::unit(&p.tokens, &scan::scan(&p.tokens), flavour, prefixes);
    let entries = &u.scan.entries;
    let mut kinds = entries.iter().map(|e| u.scan.functions[e.function].kind);
    let ends_only = flavour == Flavour::Scalar && kinds.all(scan::Kind::lanes);
    let mut options = target_cpu::options(
        &cx.compiler,
        &cx.shim,
        flavour,
        ends_only,
        isa,
        &cx.target,
        cx.cross,
    );
    options.extend(contraction(&p.tokens));
    let (tag, what) = match flavour {
        Flavour::Lanes(_) => (format!("{}_lanes.o", isa.suffix()), "lanes"),
        Flavour::Fiber => (format!("{}_fiber.o", isa.suffix()), "fibers"),
        Flavour::Probe => ("probe.s".into(), "sizes"),
        _ => (format!("{}.o", isa.suffix()), "scalar"),
    };
    options.push(
        if flavour == Flavour::Probe {
            "-S"
        } else {
            "-c"
        }
        .into(),
    );
    let output = cx.product(&u.name, &tag);
    let target = format!("cpu {} {what}", isa.suffix());
    cx.compile(u, &text, &options, &output, &target)?;
    Ok(output)
}

/// The option that keeps products and sums apart, where the text asks for that.
fn contraction(t: &Tokens) -> Option<String> {
    rewrite::forbids_contraction(t).then(|| "-ffp-contract=off".into())
}

/// Makes a static library of the objects and tells cargo to link it.
pub(super) fn archive(cx: &Context, library: &str, objects: &[PathBuf]) -> Result<(), BuildError> {
    if objects.is_empty() {
        return Ok(());
    }
    let name = format!("mslk_{library}");
    let file = cx.out.join(format!("lib{name}.a"));
    let list: Vec<String> = objects.iter().map(|o| o.display().to_string()).collect();
    let contents = cache::files_key(objects).unwrap_or_default();
    cache::cached(&file, &cache::hash(&[&contents]), || {
        let _ = fs::remove_file(&file);
        let ar = env::var("AR").unwrap_or_else(|_| "ar".into());
        let out = Command::new(&ar)
            .arg("crs")
            .arg(&file)
            .args(&list)
            .output()
            .map_err(|e| BuildError::Tool {
                tool: ar.clone(),
                message: e.to_string(),
            })?;
        if out.status.success() {
            return Ok(());
        }
        Err(BuildError::Tool {
            tool: ar,
            message: String::from_utf8_lossy(&out.stderr).into_owned(),
        })
    })?;
    println!("cargo:rustc-link-search=native={}", cx.out.display());
    println!("cargo:rustc-link-lib=static={name}");
    if cx.target.contains("linux") {
        println!("cargo:rustc-link-lib=dylib=m");
    }
    Ok(())
}
