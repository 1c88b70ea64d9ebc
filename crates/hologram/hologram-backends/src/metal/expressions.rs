//! Expressions of views as kernels on this backend's device.

use std::collections::HashMap;
use std::sync::Arc;

use hologram_kernels::host::expression::{Expression, FoldOp};
use openvm_metal_common::kernel::ArgKind;
use openvm_metal_common::{Cost, Grid, MetalContext, RuntimeArg, RuntimeKernel, RuntimeUnit};

use super::device_error;
use super::pipeline::Pipelines;
use super::MetalBackend;
use crate::backend::views::{BufferView, ExpressionViews, FoldForm};
use crate::error::{BackendError, Result};
use crate::isa::Ty;
use crate::translate::expression::{
    fused, rounds, Layout, Round, Sharing, Space, Value, Word, GROUP,
};

/// Most plans, and most kernels, that are kept.
const MOST_KNOWN: usize = 4096;
/// Index of the memory that places are counted from.
const MEMORY: u8 = 0;
/// Index of the parameters.
const PARAMETERS: u8 = 1;
/// Place of a kernel's argument of values, in bytes, that every device takes.
const MOST_WORDS: usize = 512;

/// Kernels of expressions that were launched before.
#[derive(Default)]
pub(super) struct Expressions {
    plans: HashMap<(u64, Space), Arc<Vec<Step>>>,
    kernels: HashMap<(u64, Layout), Arc<Kernel>>,
    by_text: HashMap<String, Arc<RuntimeUnit>>,
    /// The fold alone of an expression, which folds parts.
    of_parts: HashMap<(u64, FoldForm), Expression>,
}

/// One launch of a plan.
struct Step {
    kernel: Arc<Kernel>,
    words: Vec<Value>,
    grid: Grid,
    cost: Cost,
    /// Bytes of memory for parts, of all launches.
    parts: usize,
}

/// Places of all that a plan reads and writes.
struct Places {
    views: Vec<usize>,
    target: Option<usize>,
    parts: Option<usize>,
}

struct Kernel {
    unit: Arc<RuntimeUnit>,
    words: Vec<Word>,
}

impl Expressions {
    /// The launches of an expression.
    fn plan(
        &mut self,
        pipelines: &mut Pipelines,
        context: &MetalContext,
        expression: &Expression,
        space: Space,
    ) -> Result<Arc<Vec<Step>>> {
        let key = (expression.id(), space);
        if let Some(found) = self.plans.get(&key) {
            return Ok(found.clone());
        }
        let (rounds, parts) = rounds(expression, &key.1);
        let steps = rounds.iter().map(|round| {
            let alone;
            let of = match round.of_parts {
                true => {
                    alone = self.fold_alone(expression, key.1.form)?;
                    &alone
                }
                false => expression,
            };
            let kernel = self.kernel(pipelines, context, of, &round.layout)?;
            step(expression, round, kernel, parts)
        });
        let steps = Arc::new(steps.collect::<Result<Vec<_>>>()?);
        if self.plans.len() >= MOST_KNOWN {
            self.plans.clear();
        }
        self.plans.insert(key, steps.clone());
        Ok(steps)
    }

    /// The fold of an expression as one of its own, of one operand.
    fn fold_alone(&mut self, expression: &Expression, form: FoldForm) -> Result<Expression> {
        let key = (expression.id(), form);
        if let Some(found) = self.of_parts.get(&key) {
            return Ok(found.clone());
        }
        let (ty, fold) = match form {
            FoldForm::Position => (Ty::U64, Some((FoldOp::Maximum, 0))),
            FoldForm::Value | FoldForm::Scan => {
                let (op, value) = expression.fold().ok_or_else(no_fold)?;
                (expression.types()[value], Some((op, 0)))
            }
        };
        let made = Expression::new(&[ty], &[], Vec::new(), Vec::new(), fold)
            .map_err(|error| BackendError::UnsupportedOperation(error.to_string()))?;
        if self.of_parts.len() >= MOST_KNOWN {
            self.of_parts.clear();
        }
        self.of_parts.insert(key, made.clone());
        Ok(made)
    }

    fn kernel(
        &mut self,
        pipelines: &mut Pipelines,
        context: &MetalContext,
        expression: &Expression,
        layout: &Layout,
    ) -> Result<Arc<Kernel>> {
        let key = (expression.id(), layout.clone());
        if let Some(found) = self.kernels.get(&key) {
            return Ok(found.clone());
        }
        let missing = |step: String| {
            BackendError::UnsupportedOperation(format!("an expression with {step} on this device"))
        };
        let made = fused(expression, layout).map_err(missing)?;
        if made.words.len() > MOST_WORDS {
            let message = format!(
                "{} parameters of an expression, at most {MOST_WORDS}",
                made.words.len()
            );
            return Err(BackendError::UnsupportedOperation(message));
        }
        let unit = match self.by_text.get(&made.text) {
            Some(unit) => unit.clone(),
            None => {
                let described = described(made.words.len(), made.barriers);
                let text = format!("\n{}", made.text.replace("$K", &described.name));
                let unit = Arc::new(pipelines.load(context, &text, described)?);
                if self.by_text.len() >= MOST_KNOWN {
                    self.by_text.clear();
                }
                self.by_text.insert(made.text, unit.clone());
                unit
            }
        };
        let kernel = Arc::new(Kernel {
            unit,
            words: made.words,
        });
        if self.kernels.len() >= MOST_KNOWN {
            self.kernels.clear();
        }
        self.kernels.insert(key, kernel.clone());
        Ok(kernel)
    }
}

fn step(expression: &Expression, round: &Round, kernel: Arc<Kernel>, parts: usize) -> Result<Step> {
    let threads = round.threads;
    let too_many = || {
        let message = format!("{threads} threads for an expression, at most {}", u32::MAX);
        BackendError::UnsupportedOperation(message)
    };
    let groups = u32::try_from(threads).map_err(|_| too_many())?;
    let grid = match (round.layout.sharing, round.layout.tiled) {
        (Some(Sharing::Rows(2..)), _) => Grid::groups(groups, GROUP),
        (_, Some(_)) => Grid::groups(groups / GROUP, GROUP),
        _ => Grid::threads(threads),
    };
    let moved = expression
        .operand_types()
        .iter()
        .map(|ty| ty.size())
        .sum::<usize>()
        + expression
            .output_types()
            .iter()
            .map(|ty| ty.size())
            .sum::<usize>()
        + round.layout.scan.map_or(0, |_| {
            // Of the fold's type, for each element.
            expression.fold_type().map_or(0, |ty| ty.size())
        });
    let elements = round.elements() as u64;
    Ok(Step {
        words: kernel.words.iter().map(|&word| round.value(word)).collect(),
        kernel,
        grid,
        cost: Cost::of_threads(elements, 1 + expression.steps().len() as u64, moved as u64),
        parts,
    })
}

fn described(words: usize, barriers: bool) -> RuntimeKernel {
    let name = "hologram_expression";
    let arg = |name: &str, index, kind| RuntimeArg {
        name: name.into(),
        index,
        kind,
    };
    let size = 8 * words.max(1) as u32;
    RuntimeKernel {
        name: name.into(),
        args: vec![
            arg("memory", MEMORY, ArgKind::BufferWrite { elem: 1 }),
            arg("parameters", PARAMETERS, ArgKind::Value { size }),
        ],
        barriers,
        max_threads: GROUP,
        ptx_entry: format!("msl_{name}"),
        cpu: None,
    }
}

/// Parts, positions and scans are made of folds alone.
fn no_fold() -> BackendError {
    BackendError::UnsupportedOperation("an expression without a fold".into())
}

/// Elements and positions share a word.
fn check_positions(expression: &Expression, views: &ExpressionViews<'_>) -> Result<()> {
    let ty = expression.fold_type().ok_or_else(no_fold)?;
    let dims = views.shape.iter().zip(views.folded);
    let folded = dims.filter(|(_, &gone)| gone);
    let length: usize = folded.map(|(&extent, _)| extent).product();
    if ty.size() > 4 || length > u32::MAX as usize {
        let message =
            format!("positions in {length} elements of {ty}: at most 2^32 - 1 of 32 bits");
        return Err(BackendError::UnsupportedOperation(message));
    }
    Ok(())
}

impl MetalBackend {
    /// Starts an expression.
    ///
    /// # Errors
    /// A step, type or size that the device does not have, a buffer that is not there, the compiler's and the device's own.
    ///
    /// # Safety
    /// Views lie inside their buffers, aligned to their elements; what is written overlaps nothing but a view that is exactly
    /// the same.
    pub(super) unsafe fn launch_expression(
        &mut self,
        expression: &Expression,
        views: &ExpressionViews<'_>,
    ) -> Result<()> {
        if self.base.apple && expression.types().contains(&Ty::F64) {
            let message = "an expression of f64: Apple GPUs have none";
            return Err(BackendError::UnsupportedOperation(message.into()));
        }
        if views.form == FoldForm::Position {
            check_positions(expression, views)?;
        }
        let mut places = Vec::with_capacity(views.views.len());
        for view in &views.views {
            places.push(self.place(view)?);
        }
        let target = views.target.as_ref();
        let target = target.map(|view| self.place(view)).transpose()?;
        let strides = |view: &BufferView| view.strides.clone();
        let space = Space {
            shape: views.shape.to_vec(),
            strides: views.views.iter().map(strides).collect(),
            aligned: places.iter().map(|at| at.is_multiple_of(16)).collect(),
            folded: views.folded.to_vec(),
            target: views.target.as_ref().map_or_else(Vec::new, strides),
            form: views.form,
        };
        let context = self.stream.context().clone();
        let plan = self
            .expressions
            .plan(&mut self.pipelines, &context, expression, space)?;
        let parts = match plan.first().map_or(0, |step| step.parts) {
            0 => None,
            bytes => self.memory.scratch(&self.stream, bytes)?,
        };
        let places = Places {
            views: places,
            target,
            parts: parts.map(|range| range.at),
        };
        for step in plan.iter() {
            // SAFETY: the caller says that the views lie inside their buffers, and the scratch memory is as long as all parts.
            unsafe { self.launch_step(step, &places, views.scalars) }?;
        }
        self.stats.expressions += 1;
        Ok(())
    }

    /// The first byte of a view.
    fn place(&mut self, view: &BufferView) -> Result<usize> {
        let range = self.memory.find(&self.stream, view.buffer)?;
        let range = range.ok_or(BackendError::InvalidBufferHandle(view.buffer))?;
        Ok(range.at + view.offset)
    }

    /// Encodes one kernel.
    ///
    /// # Safety
    /// All that the kernel touches, views from these places on and parts, is live memory of this backend.
    unsafe fn launch_step(&mut self, step: &Step, places: &Places, scalars: &[u64]) -> Result<()> {
        let store = &self.memory.store;
        let mut words = Vec::with_capacity(8 * step.words.len().max(1));
        for &value in &step.words {
            let at = |place: Option<usize>| store.offset(place.unwrap_or(0)) as u64;
            let word = match value {
                Value::Number(number) => number,
                Value::View(view) => at(Some(places.views[view])),
                Value::Target => at(places.target),
                Value::Parts(offset) => at(places.parts.map(|first| first + offset)),
                Value::Scalar(k) => scalars[k],
            };
            words.extend_from_slice(&word.to_le_bytes());
        }
        if words.is_empty() {
            words.resize(8, 0);
        }
        let mut call = step
            .kernel
            .unit
            .encode(&self.stream, 0, step.grid)
            .map_err(device_error)?
            .buffer_range(MEMORY, store.base())
            .value_bytes(PARAMETERS, &words)
            .cost(step.cost);
        let reached = places.views.iter().copied().chain(places.target);
        for at in reached.chain(places.parts) {
            if let Some((slice, _)) = store.around(at) {
                call = call.reaches(slice);
            }
        }
        // SAFETY: the kernel touches the elements of its views and the parts, nothing else; the caller's promise.
        unsafe { call.dispatch_unchecked() }.map_err(device_error)?;
        self.stats.launches += 1;
        Ok(())
    }
}
