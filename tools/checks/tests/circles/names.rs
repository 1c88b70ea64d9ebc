//! Definitions, imports and names in the source of a module.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, ItemMod, ItemUse, Macro, Path, UseTree, Visibility};

use crate::source::is_test;

/// One leaf of a `use`.
pub struct Import {
    pub path: Vec<String>,
    /// The name that it gets; none for a glob, whose path is that of the module.
    pub name: Option<String>,
    /// Others may use it too.
    pub public: bool,
}

/// Names in one module, those of its inline modules and tests left out.
#[derive(Default)]
pub struct Names {
    pub items: BTreeSet<String>,
    pub imports: Vec<Import>,
    /// Every other path.
    pub paths: Vec<Vec<String>>,
}

impl Names {
    /// True if a `use` gives this name.
    pub fn imports(&self, name: &str) -> bool {
        let same = |import: &Import| import.name.as_deref() == Some(name);
        self.imports.iter().any(same)
    }
}

/// Reads the items of a module.
pub fn collect(items: &[Item]) -> Names {
    let mut names = Names::default();
    for item in items {
        if let Some(name) = defined(item) {
            names.items.insert(name);
        }
        names.visit_item(item);
    }
    names
}

fn defined(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

impl Visit<'_> for Names {
    fn visit_item(&mut self, item: &Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    /// A module of its own.
    fn visit_item_mod(&mut self, _: &ItemMod) {}

    fn visit_item_use(&mut self, item: &ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited);
        self.add_tree(&item.tree, vec![], public);
    }

    /// `pub(super)` names nothing.
    fn visit_visibility(&mut self, _: &Visibility) {}

    fn visit_path(&mut self, path: &Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter();
            self.paths
                .push(segments.map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &Macro) {
        visit::visit_macro(self, call);
        self.add_tokens(call.tokens.clone());
    }
}

impl Names {
    fn add_tree(&mut self, tree: &UseTree, mut path: Vec<String>, public: bool) {
        let name = match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                return self.add_tree(&inner.tree, path, public);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, path.clone(), public);
                }
                return;
            }
            UseTree::Glob(_) => None,
            UseTree::Name(name) if name.ident == "self" => path.last().cloned(),
            UseTree::Name(name) => {
                path.push(name.ident.to_string());
                Some(name.ident.to_string())
            }
            UseTree::Rename(rename) => {
                if rename.ident != "self" {
                    path.push(rename.ident.to_string());
                }
                Some(rename.rename.to_string())
            }
        };
        self.imports.push(Import { path, name, public });
    }

    /// Paths of two names and more in the text of a macro.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if colons == 2 || path.is_empty() => {
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                }
                other => {
                    self.end_path(&mut path);
                    colons = 0;
                    match other {
                        TokenTree::Ident(ident) => path.push(ident.to_string()),
                        TokenTree::Group(group) => self.add_tokens(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.end_path(&mut path);
    }

    fn end_path(&mut self, path: &mut Vec<String>) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.paths.push(path);
        }
    }
}
