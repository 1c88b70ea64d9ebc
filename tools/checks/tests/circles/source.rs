//! The modules of a crate, read from its files.

use std::collections::BTreeMap;
use std::path::Path;

use syn::{Attribute, Item, Meta};

use crate::names::{collect, Names};

/// A module and the file that its text stands in.
pub struct Module {
    /// Names from the root on.
    pub path: Vec<String>,
    /// Relative to the root's folder.
    pub file: String,
    pub names: Names,
}

impl Module {
    /// The module below the root that it belongs to; the root is `crate`.
    pub fn top(&self) -> &str {
        self.path.first().map_or("crate", String::as_str)
    }
}

/// All modules of a crate without its tests.
pub struct Crate {
    modules: BTreeMap<Vec<String>, Module>,
}

impl Crate {
    /// Reads the file of the root and of all modules below.
    pub fn read(root: &Path) -> Self {
        let mut krate = Self {
            modules: BTreeMap::new(),
        };
        let folder = root.parent().expect("a root has a folder");
        krate.read_file(root, folder, folder, vec![]);
        krate
    }

    /// `below`: where the files of its modules are.
    fn read_file(&mut self, file: &Path, src: &Path, below: &Path, path: Vec<String>) {
        let text = std::fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = file.strip_prefix(src).expect("below src");
        let name = name.to_string_lossy().replace('\\', "/");
        self.add(&parsed.items, &name, src, below, path);
    }

    fn add(&mut self, items: &[Item], file: &str, src: &Path, below: &Path, path: Vec<String>) {
        for item in items {
            let Item::Mod(module) = item else { continue };
            if is_test(&module.attrs) {
                continue;
            }
            let name = module.ident.to_string();
            let inner = [path.clone(), vec![name.clone()]].concat();
            let below = below.join(&name);
            match &module.content {
                Some((_, items)) => self.add(items, file, src, &below, inner),
                None => {
                    let nested = below.join("mod.rs");
                    let plain = below.with_extension("rs");
                    let found = if nested.exists() { nested } else { plain };
                    self.read_file(&found, src, &below, inner);
                }
            }
        }
        let module = Module {
            path: path.clone(),
            file: file.to_owned(),
            names: collect(items),
        };
        self.modules.insert(path, module);
    }

    /// Pairs of modules of which the first depends on the second, with the name.
    pub fn dependencies(&self) -> Vec<(&Module, &Module, String)> {
        let mut all = Vec::new();
        for module in self.modules.values() {
            let imports = module.names.imports.iter().filter(|import| {
                let target = self.resolve(module, &import.path, 0);
                let own = target.is_some_and(|target| target.path.starts_with(&module.path));
                !(import.public && own)
            });
            let paths = imports.map(|import| &import.path);
            for path in paths.chain(&module.names.paths) {
                if let Some(target) = self.resolve(module, path, 0) {
                    all.push((module, target, path.join("::")));
                }
            }
        }
        all
    }

    /// The module that defines what `path` means in `module`; none for names of other crates and of the prelude.
    fn resolve(&self, module: &Module, path: &[String], depth: usize) -> Option<&Module> {
        let (first, rest) = path.split_first()?;
        let parent = &module.path[..module.path.len().saturating_sub(1)];
        match first.as_str() {
            "crate" => self.lookup(&[], rest, depth),
            "self" => self.lookup(&module.path, rest, depth),
            "super" if rest.first().is_some_and(|next| next == "super") => {
                self.resolve(self.modules.get(parent)?, rest, depth)
            }
            "super" => self.lookup(parent, rest, depth),
            // A variable may have the name of a module, and a module alone is no expression.
            _ if rest.is_empty() && self.child(&module.path, first).is_some() => None,
            _ => self.named(module, path, depth),
        }
    }

    fn child(&self, module: &[String], name: &str) -> Option<&Module> {
        self.modules
            .get(&[module.to_vec(), vec![name.to_owned()]].concat())
    }

    /// Does the work of [`Crate::resolve`] for a path from a module on. A name without a definition is made by a macro there.
    fn lookup(&self, module: &[String], path: &[String], depth: usize) -> Option<&Module> {
        let module = self.modules.get(module)?;
        match path {
            [] => Some(module),
            [name] if self.child(&module.path, name).is_some() && !module.names.imports(name) => {
                self.child(&module.path, name)
            }
            _ => self.named(module, path, depth).or(Some(module)),
        }
    }

    /// Module that a module's own names give for the beginning of a path.
    fn named(&self, module: &Module, path: &[String], depth: usize) -> Option<&Module> {
        // Globs may name each other.
        if depth > 8 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let same_name = |import: &&crate::names::Import| import.name.as_deref() == Some(first);
        if let Some(import) = module.names.imports.iter().find(same_name) {
            // `use plan::plan;` beside `mod plan;`.
            if import.path != path {
                let full = [import.path.clone(), rest.to_vec()].concat();
                return self.resolve(module, &full, depth + 1);
            }
        }
        if let (Some(child), false) = (self.child(&module.path, first), rest.is_empty()) {
            return self.lookup(&child.path, rest, depth + 1);
        }
        if module.names.items.contains(first) {
            return self.modules.get(&module.path);
        }
        let globs = module.names.imports.iter().filter(|i| i.name.is_none());
        globs
            .filter_map(|glob| self.resolve(module, &glob.path, depth + 1))
            .filter(|target| target.path != module.path)
            .find_map(|target| self.named(target, path, depth + 1))
    }
}

/// Compiled for tests only.
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string().replace(' ', "");
            condition == "test" || condition.starts_with("all(test,")
        }
        _ => false,
    })
}
