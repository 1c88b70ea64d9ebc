//! State that all steps of a build share: the compiler, the folders, and the compilation of a unit.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    cache,
    codegen_cpp::Flavour,
    compiler::Compiler,
    error::BuildError,
    lexer::Tokens,
    preprocess::{preprocess, Preprocessed, Request, METAL_VERSION},
    scan::Scan,
    shim::{self, write_if_changed, ShimFolders},
    target_apple,
    target_cpu::Isa,
    target_metallib::AppleTools,
};

/// Age of a compiled file, since a build made or took it, at which it is removed.
const MOST_UNUSED: Duration = Duration::from_secs(7 * 24 * 3600);

/// A `.metal` file.
pub(super) struct Unit {
    pub file: PathBuf,
    pub name: String,
    pub prefix: String,
    pub scan: Scan,
    /// Source that Apple's compiler gets and the rules read.
    pub text: Tokens,
    pub files: Vec<PathBuf>,
}

/// State that all steps of a build share.
pub(super) struct Context {
    pub compiler: Compiler,
    pub shim: ShimFolders,
    pub root: PathBuf,
    pub out: PathBuf,
    pub target: String,
    pub cross: bool,
    pub isas: Vec<Isa>,
    pub ptx: bool,
    pub apple: Option<AppleTools>,
}

/// Text as a part of file names and symbols.
pub(super) fn identifier(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}

impl Context {
    /// Path of the build product `tag` of the unit `name`.
    pub fn product(&self, name: &str, tag: &str) -> PathBuf {
        self.out.join(identifier(name)).join(tag)
    }

    pub fn preprocess(
        &self,
        file: &Path,
        name: &str,
        flavour: Flavour,
    ) -> Result<Preprocessed, BuildError> {
        let folder = self.product(name, "text");
        preprocess(self.request(file, &folder), flavour)
    }

    /// The text of a unit that Apple's compiler gets.
    pub fn apple(&self, file: &Path, name: &str) -> Result<Preprocessed, BuildError> {
        let folder = self.product(name, "text");
        target_apple::text(self.request(file, &folder))
    }

    fn request<'a>(&'a self, file: &'a Path, folder: &'a Path) -> Request<'a> {
        Request {
            compiler: &self.compiler,
            root: &self.root,
            file,
            metal_version: METAL_VERSION,
            folder,
        }
    }

    /// Compiles `text` with `options` to `output`, unless nothing changed. Clippy, documentation and each profile of cargo have
    /// a folder of their own: what was compiled for one is copied for the others.
    pub fn compile(
        &self,
        u: &Unit,
        text: &str,
        options: &[String],
        output: &Path,
        target: &str,
    ) -> Result<(), BuildError> {
        let here = self.out.display().to_string();
        let options_key = options.join("\n").replace(&here, "");
        let key = cache::hash(&[&self.compiler.version, shim::version(), &options_key, text]);
        cache::cached(output, &key, || {
            let source = output.with_extension("cpp");
            write_if_changed(&source, text)?;
            let run = || {
                let mut args = options.to_vec();
                args.extend([
                    "-o".into(),
                    output.display().to_string(),
                    source.display().to_string(),
                ]);
                let start = Instant::now();
                self.compiler.run(&args, &u.file, target)?;
                if env::var_os("OPENVM_METAL_BUILD_VERBOSE").is_some() {
                    println!(
                        "{} for {target}: {:.2} s",
                        u.name,
                        start.elapsed().as_secs_f64()
                    );
                }
                Ok::<(), BuildError>(())
            };
            let shared = shared(&self.out).map(|folder| folder.join(&key));
            if let Some(bytes) = shared.as_deref().and_then(cache::take) {
                return fs::write(output, bytes).map_err(|e| BuildError::io(output, e));
            }
            run()?;
            if let (Some(shared), Ok(bytes)) = (shared, fs::read(output)) {
                cache::give(&shared, &bytes, MOST_UNUSED);
            }
            Ok(())
        })
    }
}

/// Folder of what was compiled, for all build folders below the same target folder of cargo; `None` where folders are laid out in another
/// way.
fn shared(out: &Path) -> Option<PathBuf> {
    // target/PROFILE/build/PACKAGE-HASH/out/metal, with the folder of `--target` before the profile.
    let build = out.ancestors().take(5).find(|f| f.ends_with("build"))?;
    Some(build.parent()?.parent()?.join("openvm-metal-kernels"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiled_kernels_are_beside_the_profiles() {
        for (out, folder) in [
            (
                "/a/build/target/debug/build/c-0/out/metal",
                Some("/a/build/target"),
            ),
            ("/t/x86_64/release/build/c-0/out/metal", Some("/t/x86_64")),
            ("/build/a/b/c/d/out/metal", None),
            ("metal", None),
        ] {
            let expected = folder.map(|folder| Path::new(folder).join("openvm-metal-kernels"));
            assert_eq!(shared(Path::new(out)), expected, "{out}");
        }
    }
}
