//! Compiles kernel files that somebody wrote: `compile_msl [-I FOLDER] [--lint] [--strict] [--metal-version N] [--constant N=VALUE]...
//! [--threadgroup-bytes N] FILE|FOLDER...`
//!
//! Prints for each file how many kernels were found, whether they compile for the CPU and to PTX, and
//! the first message of what does not. Function constants that are not given are zero, and named. The
//! language is Metal 3.1 unless told otherwise; threadgroup arrays may have 32 KiB. With `--strict` a file that does not
//! compile for the CPU is an error.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openvm_metal_builder::{BuildError, ConstantValue, Toolchain};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut root = None;
    let (mut lint, mut strict) = (false, false);
    let mut files = Vec::new();
    let mut constants: Vec<(u32, ConstantValue)> = Vec::new();
    let mut version = 310;
    let mut options = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(a) = args.next() {
        match a.as_str() {
            "-I" => root = args.next().map(PathBuf::from),
            "--lint" => lint = true,
            "--strict" => strict = true,
            "--threadgroup-bytes" => {
                let bytes: u32 = args.next().unwrap_or_default().parse()?;
                options.push(format!("-DMSL_TG_MAX={bytes}"));
            }
            "--metal-version" => version = args.next().unwrap_or_default().parse()?,
            "--constant" => {
                let given = args.next().unwrap_or_default();
                let (index, value) = given.split_once('=').ok_or("--constant takes N=VALUE")?;
                constants.push((index.parse()?, value.parse()?));
            }
            _ => collect(Path::new(&a), &mut files),
        }
    }
    files.sort();
    let scratch = std::env::temp_dir().join("openvm-metal-compile-msl");
    let mut tools = Toolchain::new(scratch)?.with_metal_version(version);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    tools = tools.with_options(&options);
    for (index, value) in constants {
        tools = tools.with_function_constant(index, value);
    }
    println!("{}", tools.compiler().version);
    let (mut kernels, mut cpu_files, mut cpu_kernels, mut ptx_files) = (0, 0, 0, 0);
    for f in &files {
        let folder = root
            .clone()
            .unwrap_or_else(|| f.parent().unwrap_or(Path::new(".")).to_path_buf());
        let found = match tools.kernels(&folder, f) {
            Ok(k) => k.len(),
            Err(e) => {
                println!("{}: {}", f.display(), first_line(&e));
                continue;
            }
        };
        kernels += found;
        let mut zeros = Vec::new();
        let mut tools = tools.clone();
        for c in tools.function_constants(&folder, f)? {
            if !tools.has_function_constant(c.index) {
                tools = tools.with_function_constant(c.index, ConstantValue::Int(0));
                zeros.push(c.name);
            }
        }
        let cpu = tools.compile_cpu_file(&folder, f);
        let ptx = tools.compile_ptx_file(&folder, f);
        let word = |ok: bool| if ok { "ok" } else { "no" };
        println!(
            "{}: {found} kernels, cpu {}, ptx {}",
            f.display(),
            word(cpu.is_ok()),
            word(ptx.is_ok())
        );
        if !zeros.is_empty() {
            println!("    function constants taken as zero: {}", zeros.join(", "));
        }
        for e in [cpu.as_ref().err(), ptx.as_ref().err()]
            .into_iter()
            .flatten()
        {
            println!("    {}", first_line(e));
        }
        cpu_files += usize::from(cpu.is_ok());
        cpu_kernels += cpu.map_or(0, |c| c.kernels.len());
        ptx_files += usize::from(ptx.is_ok());
        if lint {
            match tools.lint(&folder, f) {
                Ok(findings) => findings.iter().for_each(|x| println!("    {x}")),
                Err(e) => println!("    {}", first_line(&e)),
            }
        }
    }
    println!(
        "{} files, {kernels} kernels; cpu: {cpu_files} files, {cpu_kernels} kernels; ptx: {ptx_files} files",
        files.len()
    );
    if strict && cpu_files < files.len() {
        return Err("not every file compiles for the CPU".into());
    }
    Ok(())
}

fn first_line(e: &BuildError) -> String {
    let text = e.to_string();
    let errors: Vec<&str> = text.lines().filter(|l| l.contains("error: ")).collect();
    match errors.first() {
        Some(l) => format!("{l} (and {} more)", errors.len() - 1),
        None => text.lines().take(2).collect::<Vec<_>>().join(" "),
    }
}

fn collect(path: &Path, out: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        out.push(path.to_path_buf());
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let p = entry.path();
        if p.is_dir() || p.extension().is_some_and(|e| e == "metal") {
            collect(&p, out);
        }
    }
}
