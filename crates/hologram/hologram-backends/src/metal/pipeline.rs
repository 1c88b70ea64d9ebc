//! Programs that are ready to launch.

use std::collections::hash_map::DefaultHasher;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use openvm_metal_common::{
    DeviceKind, MetalContext, MetalError, RuntimeKernel, RuntimeSource, RuntimeUnit,
};

use super::unit::{CompilerWork, UnitCompiler};
use super::{device_error, MetalStats};
use crate::backend::launch::{ExecutionParams, DEFAULT_STEP_BUDGET};
use crate::error::{BackendError, Result};
use crate::isa::{Register, Ty};
use crate::program::Program;
use crate::translate::{translate, Options, Plan};
use crate::validate::validate;

/// Most programs that are kept ready.
const MAX_PIPELINES: usize = 4096;
/// Most kernels in one compilation.
const KERNELS_PER_UNIT: usize = 64;

/// A program with its kernel.
#[derive(Debug)]
pub struct Pipeline {
    /// The program.
    pub program: Program,
    /// The shape it was translated for.
    pub options: Options,
    /// The translation.
    pub plan: Arc<Plan>,
    /// The unit that holds its kernel.
    pub unit: Arc<RuntimeUnit>,
    /// Index of the kernel in the unit.
    pub index: usize,
}

/// A compiled kernel.
#[derive(Clone)]
struct Kernel {
    unit: Arc<RuntimeUnit>,
    index: usize,
}

/// Pipelines by program and shape; kernels by text, which programs of one shape share.
pub struct Pipelines {
    compiler: UnitCompiler,
    by_program: HashMap<u64, Vec<(Arc<Pipeline>, u64)>>,
    by_text: HashMap<String, Kernel>,
    /// Hashes of texts that took too long, with the error: they are not tried again under this limit.
    refused: HashMap<u64, BackendError>,
    count: usize,
    clock: u64,
}

/// The shape of a launch.
pub fn options(base: &Options, program: &Program, params: &ExecutionParams) -> Options {
    let mut initial: Vec<(Register, Ty)> = Vec::new();
    for &(register, ty, _) in &params.initial_registers {
        initial.retain(|&(r, _)| r != register);
        initial.push((register, ty));
    }
    initial.sort_unstable();
    let (grid, block) = (params.launch.grid, params.launch.block);
    let budget = params.step_budget.unwrap_or(DEFAULT_STEP_BUDGET);
    Options {
        linear: grid.y == 1 && grid.z == 1 && block.y == 1 && block.z == 1,
        tight_budget: budget < program.len() as u64,
        unlimited: budget == u64::MAX,
        initial,
        ..base.clone()
    }
}

impl Pipelines {
    /// No programs yet.
    pub fn new(compiler: UnitCompiler) -> Self {
        Self {
            compiler,
            by_program: HashMap::new(),
            by_text: HashMap::new(),
            refused: HashMap::new(),
            count: 0,
            clock: 0,
        }
    }

    /// Sets the most seconds of processor time that compiling a kernel may take.
    pub fn set_limit(&mut self, seconds: u32) {
        self.compiler.set_limit(Some(seconds));
        self.refused.clear();
    }

    /// The program's pipeline: known, or validated, translated and compiled now.
    ///
    /// # Errors
    /// Those of [`validate`], of [`translate`] and of the compiler.
    pub fn get(
        &mut self,
        context: &MetalContext,
        program: &Program,
        options: &Options,
        stats: &mut MetalStats,
    ) -> Result<Arc<Pipeline>> {
        if let Some(found) = self.known(program, options) {
            stats.pipeline_hits += 1;
            return Ok(found);
        }
        validate(program, &options.initial)?;
        let plan = Arc::new(translate(program, options)?);
        self.compile(context, &[&plan], stats)?;
        self.keep(program, options, plan)
    }

    /// Compiles many programs with few calls of the compiler; programs that cannot be translated are left out.
    ///
    /// # Errors
    /// Those of the compiler.
    pub fn prepare(
        &mut self,
        context: &MetalContext,
        programs: &[(&Program, Options)],
        stats: &mut MetalStats,
    ) -> Result<usize> {
        let mut plans = Vec::new();
        for (program, options) in programs {
            let usable = self.known(program, options).is_none()
                && validate(program, &options.initial).is_ok();
            if let (true, Ok(plan)) = (usable, translate(program, options)) {
                plans.push((*program, options, Arc::new(plan)));
            }
        }
        let new = groups(plans.iter().map(|(_, _, plan)| plan), |text| {
            self.by_text.contains_key(text)
        });
        for group in new {
            match self.compile(context, &group, stats) {
                // One of them takes long: the others are not held up by it.
                Err(BackendError::CompilationLimit(_)) => {
                    for plan in group {
                        match self.compile(context, &[plan], stats) {
                            Ok(()) | Err(BackendError::CompilationLimit(_)) => {}
                            failed => failed?,
                        }
                    }
                }
                compiled => compiled?,
            }
        }
        plans.retain(|(_, _, plan)| self.by_text.contains_key(&plan.text));
        let count = plans.len();
        for (program, options, plan) in plans {
            self.keep(program, options, plan)?;
        }
        Ok(count)
    }

    /// Compiles and loads one kernel of text that no program is.
    ///
    /// # Errors
    /// Those of the compiler.
    pub fn load(
        &self,
        context: &MetalContext,
        text: &str,
        kernel: RuntimeKernel,
    ) -> Result<RuntimeUnit> {
        // An expression has at most 512 values: seconds even of the slowest functions.
        const WORK: CompilerWork = CompilerWork {
            vectors: true,
            seconds: 0.0,
        };
        let name = kernel.name.clone();
        let source = self
            .compiler
            .compile_text(&name, text, vec![kernel], WORK)?;
        context.load_unit(&source).map_err(not_loaded)
    }

    /// True if the program's pipeline is ready.
    pub fn is_known(&self, program: &Program, options: &Options) -> bool {
        let entries = self.by_program.get(&hash(program, options));
        entries.is_some_and(|entries| {
            let mut entries = entries.iter();
            entries.any(|(p, _)| p.options == *options && p.program == *program)
        })
    }

    fn known(&mut self, program: &Program, options: &Options) -> Option<Arc<Pipeline>> {
        self.clock += 1;
        let entries = self.by_program.get_mut(&hash(program, options))?;
        let (pipeline, used) = entries
            .iter_mut()
            .find(|(p, _)| p.options == *options && p.program == *program)?;
        *used = self.clock;
        Some(pipeline.clone())
    }

    fn keep(
        &mut self,
        program: &Program,
        options: &Options,
        plan: Arc<Plan>,
    ) -> Result<Arc<Pipeline>> {
        let dropped = || BackendError::Compilation("the kernel was dropped".into());
        let kernel = self.by_text.get(&plan.text).cloned().ok_or_else(dropped)?;
        if self.count >= MAX_PIPELINES {
            self.evict();
        }
        let pipeline = Arc::new(Pipeline {
            program: program.clone(),
            options: options.clone(),
            plan,
            unit: kernel.unit,
            index: kernel.index,
        });
        let entries = self.by_program.entry(hash(program, options)).or_default();
        entries.push((pipeline.clone(), self.clock));
        self.count += 1;
        Ok(pipeline)
    }

    /// Drops the half that was not used for the longest time, and kernels that only they used.
    fn evict(&mut self) {
        let mut times: Vec<u64> = self
            .by_program
            .values()
            .flatten()
            .map(|&(_, t)| t)
            .collect();
        times.sort_unstable();
        let limit = times[times.len() / 2];
        self.by_program.retain(|_, entries| {
            entries.retain(|&(_, used)| used > limit);
            !entries.is_empty()
        });
        self.count = self.by_program.values().map(Vec::len).sum();
        let kept: std::collections::HashSet<&str> = self
            .by_program
            .values()
            .flatten()
            .map(|(p, _)| p.plan.text.as_str())
            .collect();
        self.by_text.retain(|text, _| kept.contains(text.as_str()));
    }

    /// Compiles and loads the texts that are not known, in one unit.
    fn compile(
        &mut self,
        context: &MetalContext,
        plans: &[&Arc<Plan>],
        stats: &mut MetalStats,
    ) -> Result<()> {
        let mut new: Vec<&Arc<Plan>> = Vec::new();
        for plan in plans {
            if self.by_text.contains_key(&plan.text) || new.iter().any(|p| p.text == plan.text) {
                stats.kernel_hits += 1;
            } else {
                new.push(plan);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let refused = new
            .iter()
            .find_map(|p| self.refused.get(&text_hash(&p.text)));
        if let Some(error) = refused {
            return Err(error.clone());
        }
        let start = std::time::Instant::now();
        let source = compile_group(&self.compiler, &new);
        if let (Err(error @ BackendError::CompilationLimit(_)), [plan]) = (&source, &new[..]) {
            if self.refused.len() >= MAX_PIPELINES {
                self.refused.clear();
            }
            self.refused.insert(text_hash(&plan.text), error.clone());
        }
        stats.compile_time += start.elapsed();
        let source = source?;
        let start = std::time::Instant::now();
        let unit = Arc::new(context.load_unit(&source).map_err(not_loaded)?);
        stats.units_compiled += 1;
        stats.kernels_compiled += new.len() as u64;
        stats.compile_time += start.elapsed();
        for (index, plan) in new.into_iter().enumerate() {
            let unit = unit.clone();
            self.by_text
                .insert(plan.text.clone(), Kernel { unit, index });
        }
        Ok(())
    }
}

/// Plans of texts that are not known, in groups that are compiled together; those whose lanes meet, and those of vectors, apart
/// from the others, because the CPU's are compiled differently.
fn groups<'a>(
    plans: impl Iterator<Item = &'a Arc<Plan>>,
    known: impl Fn(&str) -> bool,
) -> Vec<Vec<&'a Arc<Plan>>> {
    let mut seen = std::collections::HashSet::new();
    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
    for plan in plans {
        if !known(&plan.text) && seen.insert(plan.text.as_str()) {
            let part = if plan.vectors {
                2
            } else {
                usize::from(plan.cooperative)
            };
            parts[part].push(plan);
        }
    }
    let chunks = parts.iter().flat_map(|part| part.chunks(KERNELS_PER_UNIT));
    chunks.map(<[_]>::to_vec).collect()
}

/// Compiles plans as one unit, the kernels named by their place.
///
/// # Errors
/// Those of the compiler.
fn compile_group(compiler: &UnitCompiler, plans: &[&Arc<Plan>]) -> Result<RuntimeSource> {
    let names: Vec<String> = (0..plans.len()).map(|i| format!("hologram_{i}")).collect();
    let kernels: Vec<(&str, &Plan)> = names
        .iter()
        .zip(plans)
        .map(|(name, plan)| (name.as_str(), &***plan))
        .collect();
    compiler.compile("hologram", &kernels)
}

/// Consequence of a unit that was not loaded: on processors it is a file that is damaged, in a folder without native code, or that
/// other users could have written.
fn not_loaded(error: MetalError) -> BackendError {
    match error {
        MetalError::KernelCompile {
            device: DeviceKind::Cpu,
            message,
            ..
        } => BackendError::KernelFolder(message),
        error @ MetalError::UntrustedCode { .. } => BackendError::KernelFolder(error.to_string()),
        other => device_error(other),
    }
}

fn text_hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn hash(program: &Program, options: &Options) -> u64 {
    let mut hasher = DefaultHasher::new();
    program.hash(&mut hasher);
    options.hash(&mut hasher);
    hasher.finish()
}
