//! `hologram run`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use hologram_backends::metal::{Fallback, MetalBackend};
use hologram_backends::native::NativeBackend;
use hologram_backends::{Backend, BufferHandle, ExecutionParams};

use super::{load, put};
use crate::array::Array;
use crate::device::BackendName;
use crate::error::{CliError, Result};
use crate::launch::LaunchArgs;
use crate::npy;
use crate::spec::{BufferSpec, OutSpec, Preset, Source};
use crate::value;

/// Most elements that are shown.
const SHOWN: usize = 64;

/// Arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// The program, serialised or text.
    program: PathBuf,
    #[command(flatten)]
    launch: LaunchArgs,
    /// A buffer from a file, or of zeros; handles are 1, 2, ... in this order, names b0, b1, ... unless given.
    #[arg(long = "buffer", value_name = "[NAME=]FILE.npy|TYPE:SHAPE")]
    buffers: Vec<BufferSpec>,
    /// Write a buffer to a file after the run.
    #[arg(long = "out", value_name = "NAME=FILE.npy")]
    outs: Vec<OutSpec>,
    /// Show the first elements of a buffer after the run.
    #[arg(long = "print", value_name = "NAME")]
    prints: Vec<String>,
    /// Backend that runs the program; auto if absent.
    #[arg(long, value_enum)]
    backend: Option<BackendName>,
    /// When the interpreter runs a program for a device: `never`, `when-unsupported`, `adaptive` (also small
    /// programs instead of compiling them).
    #[arg(long, value_name = "POLICY", default_value_t)]
    fallback: Fallback,
    /// Most instructions a lane may execute.
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Most seconds the program may run; compiling does not count.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<Duration>,
    /// A lane's class is its block's x index mod 96 instead of 0.
    #[arg(long)]
    class_from_block: bool,
    /// Sums and products of floats that a loop of one lane collects may be computed in any order.
    #[arg(long)]
    reassociate: bool,
    /// Say nothing on standard error.
    #[arg(long, short)]
    quiet: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let limit = text
        .parse()
        .ok()
        .and_then(|s| Duration::try_from_secs_f64(s).ok());
    let limit = limit.filter(|limit| !limit.is_zero());
    limit.ok_or_else(|| format!("`{text}` is no number of seconds above 0"))
}

impl RunArgs {
    /// Takes a backend that stood before the command's name.
    ///
    /// # Errors
    /// If another one stands after it.
    pub fn take_backend(&mut self, before: Option<BackendName>) -> Result<()> {
        if self.backend.is_some() && before.is_some() && self.backend != before {
            return Err(CliError::Usage("two different backends are given".into()));
        }
        self.backend = self.backend.or(before);
        Ok(())
    }
}

/// A buffer of the run.
struct Named {
    name: String,
    handle: BufferHandle,
    array: Array,
}

/// Runs the program.
pub fn run(args: &RunArgs) -> Result<()> {
    let program = load(&args.program)?;
    let arrays = arrays(&args.buffers)?;
    // Names first: a run is not done in vain.
    for name in args.outs.iter().map(|out| &out.name).chain(&args.prints) {
        if !arrays.iter().any(|(known, _)| known == name) {
            return Err(unknown(name, &arrays));
        }
    }
    let name = args.backend.unwrap_or(BackendName::Auto);
    let (mut backend, device) = name.open(args.fallback)?;
    let mut buffers = Vec::with_capacity(arrays.len());
    for (name, array) in arrays {
        let handle = backend.allocate_buffer(array.data.len())?;
        backend.copy_to_buffer(handle, &array.data)?;
        buffers.push(Named {
            name,
            handle,
            array,
        });
    }
    let params = params(args, &buffers)?;
    let begin = Instant::now();
    backend.execute_program_with_params(&program, &params)?;
    let elapsed = begin.elapsed();
    if !args.quiet {
        let (grid, block) = (params.launch.grid, params.launch.block);
        let lanes = grid.count().unwrap_or(0) * block.count().unwrap_or(0);
        let any = backend.as_any();
        let metal = any.downcast_ref::<MetalBackend>();
        let native = any.downcast_ref::<NativeBackend>().map(|b| b.stats());
        let by = match (metal, native) {
            (Some(metal), _) if metal.stats().interpreted > 0 => ", by the interpreter",
            (_, Some(native)) if native.without_compiler > 0 => {
                ", by the interpreter: there is no C++ compiler, or no folder for kernels"
            }
            (_, Some(native)) if native.interpreted > 0 => ", by the interpreter",
            _ => "",
        };
        eprintln!(
            "{lanes} lanes on {device}{by}: {:.3} ms",
            elapsed.as_secs_f64() * 1e3
        );
    }
    collect(args, backend.as_mut(), &mut buffers)
}

/// Contents and names of the buffers.
fn arrays(specs: &[BufferSpec]) -> Result<Vec<(String, Array)>> {
    let mut arrays: Vec<(String, Array)> = Vec::with_capacity(specs.len());
    for (index, spec) in specs.iter().enumerate() {
        let name = spec.name.clone().unwrap_or_else(|| format!("b{index}"));
        if arrays.iter().any(|(known, _)| *known == name) {
            return Err(CliError::Usage(format!("two buffers are named `{name}`")));
        }
        let array = match &spec.source {
            Source::Zeros(ty, shape) => Array::zeros(*ty, shape.clone())
                .map_err(|reason| CliError::Usage(format!("buffer `{name}`: {reason}")))?,
            Source::File(path) => {
                let shown = || path.display().to_string();
                let bytes = std::fs::read(path).map_err(|source| CliError::Read {
                    path: shown(),
                    source,
                })?;
                npy::read(&bytes).map_err(|reason| CliError::Array {
                    path: shown(),
                    reason,
                })?
            }
        };
        arrays.push((name, array));
    }
    Ok(arrays)
}

fn unknown(name: &str, arrays: &[(String, Array)]) -> CliError {
    let known: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
    CliError::Usage(format!(
        "no buffer is named `{name}`; there are: {}",
        if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        }
    ))
}

fn params(args: &RunArgs, buffers: &[Named]) -> Result<ExecutionParams> {
    let mut params = args.launch.params();
    params.step_budget = args.steps;
    params.time_limit = args.time_limit;
    params.class_from_block = args.class_from_block;
    params.allow_reassociation = args.reassociate;
    for spec in &args.launch.registers {
        let bits = match &spec.preset {
            Preset::Bits(_, bits) => *bits,
            Preset::Handle(name) => buffers
                .iter()
                .find(|buffer| buffer.name == *name)
                .map(|buffer| buffer.handle.raw())
                .ok_or_else(|| {
                    CliError::Usage(format!("{}: no buffer is named `{name}`", spec.register))
                })?,
        };
        params = params.with_register(spec.register, spec.ty(), bits);
    }
    Ok(params)
}

/// Reads the buffers that are asked for, writes and shows them.
fn collect(args: &RunArgs, backend: &mut dyn Backend, buffers: &mut [Named]) -> Result<()> {
    let mut read = |name: &str| -> Result<Option<Array>> {
        let Some(buffer) = buffers.iter_mut().find(|buffer| buffer.name == name) else {
            return Ok(None);
        };
        backend.copy_from_buffer(buffer.handle, &mut buffer.array.data)?;
        Ok(Some(buffer.array.clone()))
    };
    for out in &args.outs {
        if let Some(array) = read(&out.name)? {
            let bytes = npy::write(&array).map_err(|reason| CliError::Array {
                path: out.path.display().to_string(),
                reason,
            })?;
            put(Some(&out.path), &bytes)?;
        }
    }
    for name in &args.prints {
        if let Some(array) = read(name)? {
            put(None, shown(name, &array).as_bytes())?;
        }
    }
    Ok(())
}

/// `name: type [shape] values`.
fn shown(name: &str, array: &Array) -> String {
    let elements = array.data.chunks_exact(array.ty.size());
    let more = if elements.len() > SHOWN { " ..." } else { "" };
    let values: Vec<String> = elements
        .take(SHOWN)
        .map(|bytes| value::show(array.ty, bytes))
        .collect();
    format!(
        "{name}: {} {:?} {}{more}\n",
        array.ty,
        array.shape,
        values.join(" ")
    )
}
