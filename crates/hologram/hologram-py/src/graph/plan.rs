//! Expressions that were computed before, by their structure.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex};

use hologram_backends::Ty;
use hologram_core::expression::{Expression, FoldOp, Step};
use pyo3::prelude::*;

use super::linearise::Steps;
use super::lock;
use crate::errors::exception;

/// Expressions of a generation; two generations are known.
const MOST_KNOWN: usize = 512;

static KNOWN: Mutex<Option<Generations>> = Mutex::new(None);

/// Structure of an expression: types of leaves and numbers, steps, values that are written, the fold and its value.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Structure {
    leaves: Vec<Ty>,
    numbers: Vec<Ty>,
    steps: Vec<Step>,
    outputs: Vec<usize>,
    fold: Option<(FoldOp, usize)>,
}

/// Expressions that were asked for lately, and those of before, which are forgotten next.
#[derive(Default)]
struct Generations {
    young: HashMap<Structure, Arc<Expression>>,
    old: HashMap<Structure, Arc<Expression>>,
}

impl Generations {
    fn find(&mut self, structure: &Structure) -> Option<Arc<Expression>> {
        if let Some(found) = self.young.get(structure) {
            return Some(found.clone());
        }
        let (structure, found) = self.old.remove_entry(structure)?;
        self.keep(structure, found.clone());
        Some(found)
    }

    fn keep(&mut self, structure: Structure, made: Arc<Expression>) {
        if self.young.len() >= MOST_KNOWN {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(structure, made);
    }
}

/// The expression of steps that writes some values and folds one.
///
/// # Errors
/// `ArgumentError`: the steps are none.
pub fn plan(
    steps: &Steps,
    outputs: &[usize],
    fold: Option<(FoldOp, usize)>,
) -> PyResult<Arc<Expression>> {
    let structure = Structure {
        leaves: steps.leaf_types(),
        numbers: steps.number_types(),
        steps: steps.steps.clone(),
        outputs: outputs.to_vec(),
        fold,
    };
    let known = lock(&KNOWN).get_or_insert_default().find(&structure);
    if let Some(found) = known {
        return Ok(found);
    }
    let made = Expression::new(
        &structure.leaves,
        &structure.numbers,
        structure.steps.clone(),
        outputs.to_vec(),
        fold,
    );
    let made = made.map_err(|error| exception("ArgumentError", error.to_string()))?;
    let made = Arc::new(made);
    let mut known = lock(&KNOWN);
    known.get_or_insert_default().keep(structure, made.clone());
    Ok(made)
}
