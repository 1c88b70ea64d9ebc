//! Files and modules depend downwards: no crate of the workspace has a circle.
//!
//! - A file *depends* on another file of its crate if it names an item that the other defines, in a `use` or in any
//!   path. Names are followed through re-exports to the file with the definition. What `#[cfg(test)]` stands before
//!   does not count, nor does the re-export of a module's own items, which only gives them another address.
//! - A *circle of files* is a set of files of which each reaches each other one by such steps, and which are not all
//!   of one folder: the files of a folder are one module in parts and may know each other. A file beside the root is a
//!   module of its own.
//! - A *circle of modules* is the same over the modules that the crate's root declares, each taken with all files
//!   below it.
//!
//! Methods are not followed: a file may call a method that another file adds to a type, because the type's own file
//! does not depend on it. That is how a type of a lower module gets what only a higher one can do.

mod graph;
mod names;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use graph::Graph;
use source::Crate;

/// Circles of one crate; files relative to `src`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Circles {
    files: BTreeSet<Vec<String>>,
    modules: BTreeSet<Vec<String>>,
}

/// The circles below a `src` folder, and what keeps each together.
fn circles(src: &Path) -> (Circles, Vec<String>) {
    let (mut found, mut reasons) = (Circles::default(), Vec::new());
    for root in ["lib.rs", "main.rs"] {
        let root = src.join(root);
        if !root.exists() {
            continue;
        }
        let krate = Crate::read(&root);
        let (mut files, mut modules) = (Graph::default(), Graph::default());
        for (from, to, name) in krate.dependencies() {
            files.add(&from.file, &to.file, &name);
            let reason = format!("{} names {name} of {}", from.file, to.file);
            modules.add(from.top(), to.top(), &reason);
        }
        for circle in files.circles() {
            let folders: BTreeSet<&str> = circle.iter().map(|file| folder(src, file)).collect();
            if folders.len() > 1 {
                reasons.push(format!("files {}", files.explain(&circle)));
                found.files.insert(circle);
            }
        }
        for circle in modules.circles() {
            reasons.push(format!("modules {}", modules.explain(&circle)));
            found.modules.insert(circle);
        }
    }
    (found, reasons)
}

/// The folder whose module a file is a part of; for a file beside the root the file itself, unless it has a folder.
fn folder<'a>(src: &Path, file: &'a str) -> &'a str {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    match file.rsplit_once('/') {
        _ if src.join(stem).is_dir() => stem,
        Some((folder, _)) => folder,
        None => file,
    }
}

fn workspace_crates() -> BTreeMap<String, PathBuf> {
    let rooms = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let folders = |of: &Path| std::fs::read_dir(of).expect("a folder of the workspace");
    folders(&rooms)
        .map(|room| room.expect("a folder").path())
        .filter(|room| room.is_dir())
        .flat_map(|room| folders(&room))
        .map(|folder| folder.expect("a folder"))
        .filter(|folder| folder.path().join("src").is_dir())
        .map(|folder| {
            let name = folder.file_name().to_string_lossy().into_owned();
            (name, folder.path().join("src"))
        })
        .collect()
}

#[test]
fn no_crate_has_a_circle() {
    let crates = workspace_crates();
    assert!(crates.contains_key("openvm-metal-backend"), "{crates:?}");
    let mut wrong = Vec::new();
    for (name, src) in &crates {
        let (found, reasons) = circles(src);
        if found != Circles::default() {
            wrong.push(format!("{name}: {found:#?}\n{}", reasons.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A crate made of `(file, text)`.
fn check(files: &[(&str, &str)]) -> Circles {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, text) in files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    circles(folder.path()).0
}

fn names(circles: &BTreeSet<Vec<String>>) -> Vec<String> {
    circles.iter().map(|circle| circle.join(" ")).collect()
}

#[test]
fn a_circle_is_found_through_re_exports_and_globs() {
    let found = check(&[
        (
            "lib.rs",
            "mod a; mod b; mod low; pub use a::A; pub use b::*;",
        ),
        ("a/mod.rs", "mod inner; pub use inner::A;"),
        (
            "a/inner.rs",
            "use crate::b; pub struct A; fn f() { b::g(); }",
        ),
        ("b.rs", "use crate::A; pub fn g() {} pub struct B(A);"),
        ("low.rs", "pub const N: u32 = 1;"),
    ]);
    assert_eq!(names(&found.files), ["a/inner.rs b.rs"]);
    assert_eq!(names(&found.modules), ["a b"]);

    let found = check(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::*; pub struct A; fn f(_: B) {}"),
        (
            "b.rs",
            "pub struct B; fn f() { println!(\"{:?}\", crate::a::A) }",
        ),
    ]);
    assert_eq!(names(&found.files), ["a.rs b.rs"]);
}

#[test]
fn modules_can_be_a_circle_where_files_are_none() {
    let found = check(&[
        ("lib.rs", "mod a; mod b;"),
        (
            "a/mod.rs",
            "mod high; mod low; pub use high::H; pub use low::L;",
        ),
        ("a/high.rs", "pub struct H(crate::b::B);"),
        ("a/low.rs", "pub struct L;"),
        ("b.rs", "pub struct B(crate::a::L);"),
    ]);
    assert!(found.files.is_empty(), "{found:?}");
    assert_eq!(names(&found.modules), ["a b"]);
}

#[test]
fn tests_addresses_and_parts_of_a_module_are_no_circles() {
    let found = check(&[
        ("lib.rs", "mod a; mod b; mod c; pub fn lock() {}"),
        (
            "a/mod.rs",
            "mod inner; pub use self::inner::A; pub fn of_parent() {}",
        ),
        (
            "a/inner.rs",
            "use super::of_parent; pub struct A; fn f() { crate::lock(); of_parent() }
                 #[cfg(test)] mod tests { use crate::b::B; }",
        ),
        (
            "c/mod.rs",
            "mod one; pub struct C; use one::One; fn g() -> Option<One> { None }",
        ),
        (
            "c/one.rs",
            "pub struct One(super::C); fn f() { super::g() }",
        ),
        ("b.rs", "use crate::a::A; pub struct B(A);"),
    ]);
    assert_eq!(found, Circles::default());
}
