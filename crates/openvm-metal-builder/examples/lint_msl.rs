//! Prints what the lint finds: `lint_msl FOLDER FILE...`; the folder is the include root.

use std::path::Path;

use openvm_metal_builder::{BuildError, Toolchain};

fn main() -> Result<(), BuildError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((root, files)) = args.split_first() else {
        eprintln!("lint_msl FOLDER FILE...");
        return Ok(());
    };
    let tools = Toolchain::new(std::env::temp_dir().join("openvm-metal-lint-msl"))?;
    let mut n = 0;
    for f in files {
        for finding in tools.lint(Path::new(root), Path::new(f))? {
            println!("{finding}");
            n += 1;
        }
    }
    println!("{} files, {n} findings", files.len());
    Ok(())
}
