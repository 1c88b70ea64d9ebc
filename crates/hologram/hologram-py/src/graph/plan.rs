//! Expressions that were computed before, by their structure.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use hologram_backends::Ty;
use hologram_core::expression::{Expression, FoldOp, Step};
use pyo3::prelude::*;

use super::linearise::Steps;
use super::lock;
use crate::errors::exception;

/// Expressions that are known before all are forgotten: planning one anew costs little beside so many others.
const MOST_KNOWN: usize = 1024;

static KNOWN: LazyLock<Mutex<HashMap<Structure, Arc<Expression>>>> = LazyLock::new(Mutex::default);

/// Structure of an expression: types of leaves and numbers, steps, values that are written, the fold and its value.
#[derive(PartialEq, Eq, Hash)]
struct Structure {
    leaves: Vec<Ty>,
    numbers: Vec<Ty>,
    steps: Vec<Step>,
    outputs: Vec<usize>,
    fold: Option<(FoldOp, usize)>,
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
    if let Some(found) = lock(&KNOWN).get(&structure) {
        return Ok(found.clone());
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
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(structure, made.clone());
    Ok(made)
}
