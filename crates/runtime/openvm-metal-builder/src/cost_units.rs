//! Units of work that cost clauses count in.

use std::collections::BTreeMap;

use crate::{
    error::Finding,
    kernel_fn::{KernelFn, Scan},
};

/// Bytes read or written; every other unit is a number of products.
const BYTE: &str = "byte";
/// A product of two 32-bit words with its reduction.
const PRODUCT: &str = "product";

/// Units of cost clauses by their singular names: `byte`, `product` and the units of a crate.
#[derive(Clone, Debug)]
pub struct CostUnits {
    /// Products that `of` units take.
    products: BTreeMap<String, (u64, u64)>,
}

impl Default for CostUnits {
    fn default() -> Self {
        Self {
            products: BTreeMap::from([(PRODUCT.to_owned(), (1, 1))]),
        }
    }
}

impl CostUnits {
    /// Adds the unit `name`, of which `of` take `products` products.
    pub fn insert(&mut self, name: &str, products: u64, of: u64) {
        self.products.insert(name.to_owned(), (products, of.max(1)));
    }

    /// Products and the number of units that take them; `None` for bytes.
    pub(crate) fn products(&self, name: &str) -> Option<(u64, u64)> {
        self.products.get(name).copied()
    }

    /// Findings of the rule `clause`: kernels whose cost is in a unit that does not exist.
    pub(crate) fn unknown(&self, scan: &Scan) -> Vec<Finding> {
        let known = |name: &str| name == BYTE || self.products.contains_key(name);
        let units = |f: &KernelFn| {
            let items = f.clauses.cost.iter().flat_map(|cost| &cost.items);
            items.map(|(_, unit)| unit.clone()).collect::<Vec<_>>()
        };
        let mut findings = Vec::new();
        for f in &scan.functions {
            for unit in units(f).into_iter().filter(|unit| !known(unit)) {
                let names: Vec<&str> = self.products.keys().map(String::as_str).collect();
                findings.push(Finding {
                    file: f.file.clone(),
                    line: f.line,
                    rule: "clause",
                    message: format!(
                        "kernel `{}`: its cost counts `{unit}`, the units are {BYTE}, {}",
                        f.name,
                        names.join(", ")
                    ),
                    remedy: "add the unit by `Builder::cost_unit` in build.rs, or count products",
                });
            }
        }
        findings
    }
}
