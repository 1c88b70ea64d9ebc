//! Expands includes and macros with the C++ compiler's preprocessor.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    cache, codegen_cpp::Flavour, compiler::Compiler, error::BuildError, lexer::Tokens,
    shim::ShimFolders,
};

/// Version of the language that `__METAL_VERSION__` announces where nothing else is said: Metal 3.0, as Apple's compiler
/// is told.
pub const METAL_VERSION: u32 = 300;

/// A preprocessed file.
pub struct Preprocessed {
    /// Its tokens.
    pub tokens: Tokens,
    /// Every file that went into it.
    pub files: Vec<PathBuf>,
}

/// Preprocesses `file`; `root` is an include folder, `out` a folder for cached results.
pub fn preprocess(
    compiler: &Compiler,
    shim: &ShimFolders,
    root: &Path,
    file: &Path,
    flavour: Flavour,
    metal_version: u32,
    cache_path: &Path,
) -> Result<Preprocessed, BuildError> {
    let mut args: Vec<String> = [
        "-E",
        "-C",
        "-x",
        "c++",
        "-std=c++17",
        "-nostdinc",
        "-undef",
        "-w",
    ]
    .map(String::from)
    .to_vec();
    args.push(format!("-D__METAL_VERSION__={metal_version}"));
    if metal_version >= 310 {
        args.push("-D__HAVE_BFLOAT__=1".into());
    }
    args.extend(["-D__METAL__=1", "-D__METAL_MACOS__=1", "-D__HAVE_INT64__=1"].map(String::from));
    args.extend(flavour.defines());
    for dir in [&shim.preprocess, &root.to_path_buf()] {
        args.push("-I".into());
        args.push(dir.display().to_string());
    }
    args.push(file.display().to_string());
    let flags = cache::hash(&[&compiler.version, &args.join("\n")]);
    if let Some(p) = load(cache_path, &flags) {
        return Ok(p);
    }
    let out = compiler.run(&args, file, "the preprocessor")?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let p = Preprocessed {
        files: files(&text, file),
        tokens: Tokens::new(text),
    };
    if let Some(key) = cache::files_key(&p.files) {
        let list: Vec<String> = p.files.iter().map(|f| f.display().to_string()).collect();
        let save = |suffix: &str, text: &str| {
            crate::shim::write_if_changed(&cache_path.with_extension(suffix), text)
        };
        save("ii", &p.tokens.text)?;
        save("files", &format!("{flags}\n{}", list.join("\n")))?;
        save("hash", &key)?;
    }
    Ok(p)
}

fn load(path: &Path, flags: &str) -> Option<Preprocessed> {
    let list = fs::read_to_string(path.with_extension("files")).ok()?;
    let mut lines = list.lines();
    if lines.next()? != flags {
        return None;
    }
    let files: Vec<PathBuf> = lines.map(PathBuf::from).collect();
    let key = cache::files_key(&files)?;
    if fs::read_to_string(path.with_extension("hash")).ok()? != key {
        return None;
    }
    let text = fs::read_to_string(path.with_extension("ii")).ok()?;
    Some(Preprocessed {
        tokens: Tokens::new(text),
        files,
    })
}

/// Files named by line markers, the main file first.
fn files(text: &str, main: &Path) -> Vec<PathBuf> {
    let mut out = BTreeSet::new();
    for line in text.lines().filter(|l| l.starts_with("# ")) {
        if let (Some(a), Some(b)) = (line.find('"'), line.rfind('"')) {
            let name = &line[a + 1..b.max(a + 1)];
            if !name.starts_with('<') && Path::new(name).is_file() {
                out.insert(PathBuf::from(name));
            }
        }
    }
    out.remove(main);
    std::iter::once(main.to_path_buf()).chain(out).collect()
}
